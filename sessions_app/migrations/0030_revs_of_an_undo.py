"""How many revs the undo of a clear took: the restored messages are read page by page."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0029_handoff_words")]
    operations = [
        migrations.AddField("chatsession", "revived_revs", models.PositiveBigIntegerField(editable=False, null=True)),
    ]
