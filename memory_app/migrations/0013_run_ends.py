"""A run keeps a hash of the request that ended it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory_app", "0012_words")]
    operations = [
        migrations.AddField(
            model_name="run",
            name="end_sha256",
            field=models.CharField(
                blank=True, default="", help_text="Of the request that ended it, so that a retry is known.", max_length=64
            ),
            preserve_default=False,
        ),
    ]
