"""Static files in production: compressed once, under names that change with their content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Only references in style sheets are renamed.

    A minified script names its source map, which is not collected; and our modules import each other by plain names,
    which are served as well.
    """

    patterns = tuple(
        (glob, tuple(pattern for pattern in patterns if "sourceMappingURL" not in str(pattern)))
        for glob, patterns in CompressedManifestStaticFilesStorage.patterns
        if glob == "*.css"
    )
