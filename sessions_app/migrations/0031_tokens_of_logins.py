"""Tickets and flush tokens of a login end with it and with the password that it knew."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0030_revs_of_an_undo")]
    operations = [
        migrations.AddField("socketticket", "password_mark", models.CharField(editable=False, max_length=64, null=True)),
        migrations.AddField("flushtoken", "session_key", models.CharField(editable=False, max_length=40, null=True)),
        migrations.AddField("flushtoken", "password_mark", models.CharField(editable=False, max_length=64, null=True)),
    ]
