from django import forms

from sessions_app.models.project import NAME_LENGTH


def name_field() -> forms.CharField:
    """Of a form of a project. Its text is shown in whichever direction it is written."""
    text = forms.TextInput(attrs={"dir": "auto"})
    return forms.CharField(
        max_length=NAME_LENGTH, required=False, help_text="The name to show. Default: the last folder of the path.", widget=text
    )
