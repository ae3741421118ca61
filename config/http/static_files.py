"""Static files in production: compressed once, under names that change with their content, scripts without comments."""

import re
from collections.abc import Iterator
from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage

# A comment that begins its line, as ours do. Those at the end of a line stay: to find them needs a parser.
_COMMENT = re.compile(r"^[ \t]*(?:/\*(?s:.*?)\*/[ \t]*|//[^\n]*)\n", re.MULTILINE)
# Our scripts, among those of packages.
_OURS = re.compile(r"js/.*\.js")


def without_comments(script: str) -> str:
    """Comments are a third of what a page would load."""
    return _COMMENT.sub("", script)


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

    def post_process(self, paths: dict[str, Any], *, dry_run: bool = False, **options: Any) -> Iterator[Any]:
        if not dry_run:
            for name in filter(_OURS.fullmatch, paths):
                self._strip(name)
        yield from super().post_process(paths, dry_run=dry_run, **options)

    def _strip(self, name: str) -> None:
        with open(self.path(name), "r+", encoding="utf-8") as file:
            script = without_comments(file.read())
            file.seek(0)
            file.write(script)
            file.truncate()
