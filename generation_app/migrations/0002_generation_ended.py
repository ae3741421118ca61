from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('generation_app', '0001_first'),
        ('sessions_app', '0027_branches'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name='generation',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='generation_ended'),
        ),
    ]
