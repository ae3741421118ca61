"""The words that two texts have in common, in order. Pure; the time is bounded however different the texts are."""

from collections import Counter
from collections.abc import Iterator, Sequence


def common_words(
    old: Sequence[str], new: Sequence[str], *, most_changes: int, least_alike: float
) -> list[tuple[int, int]] | None:
    """Positions in `old` and `new` of the unchanged words, with the fewest removals and additions (Myers' O(ND) algorithm).

    None if there are more than `most_changes` of these, or if the share of common words is below `least_alike`.
    Time: the length of both texts plus the square of the number of changes.
    """
    if _share(old, new) < least_alike:
        return None
    # By diagonal (position in `old` minus position in `new`): the furthest position in `old` reached with this many changes.
    furthest, trail = {1: 0}, list[dict[int, int]]()
    for changes in range(min(most_changes, len(old) + len(new)) + 1):
        trail.append(furthest.copy())
        for diagonal in range(-changes, changes + 1, 2):
            at = _begin(furthest, diagonal, changes)[1]
            while at < len(old) and 0 <= at - diagonal < len(new) and old[at] == new[at - diagonal]:
                at += 1
            furthest[diagonal] = at
            if diagonal == len(old) - len(new) and at == len(old):
                return list(_walk_back(trail, at, diagonal))[::-1]
    return None


def _share(old: Sequence[str], new: Sequence[str]) -> float:
    """The share of common words; blanks do not count, as every text has them."""
    before, after = (Counter(word for word in words if not word.isspace()) for words in (old, new))
    both = before.total() + after.total()
    return 2 * (before & after).total() / both if both else 1.0


def _begin(furthest: dict[int, int], diagonal: int, changes: int) -> tuple[int, int]:
    """The diagonal before the last change (a word added or removed), and the position in `old` that it leads to."""
    came = diagonal == -changes or (diagonal != changes and furthest[diagonal - 1] < furthest[diagonal + 1])
    return (diagonal + 1, furthest[diagonal + 1]) if came else (diagonal - 1, furthest[diagonal - 1] + 1)


def _walk_back(trail: list[dict[int, int]], at: int, diagonal: int) -> Iterator[tuple[int, int]]:
    """The unchanged words, last one first."""
    for changes in range(len(trail) - 1, -1, -1):
        former, begin = _begin(trail[changes], diagonal, changes)
        for place in range(at - 1, begin - 1, -1):
            yield place, place - diagonal
        at, diagonal = trail[changes][former], former
