from django.db import migrations, models

ROLE = models.CharField(help_text="As its format names it.", max_length=9)


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0024_redundant_indexes")]
    operations = [migrations.AlterField("message", "role", ROLE), migrations.AlterField("conflictcopy", "role", ROLE)]
