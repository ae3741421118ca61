"""Which words two texts have in common, in their order. Pure; its time is bounded, however unlike the texts are."""

from collections import Counter
from collections.abc import Iterator, Sequence


def common_words(
    old: Sequence[str], new: Sequence[str], *, most_changes: int, least_alike: float
) -> list[tuple[int, int]] | None:
    """Places in `old` and `new` of the words that stay, so that the fewest go and come (Myers' O(ND) algorithm).

    None where more than `most_changes` go and come, or where the share of the words that both have is below `least_alike`.
    Takes the length of both and the square of the changes.
    """
    if _share(old, new) < least_alike:
        return None
    # By diagonal (a place in `old` less one in `new`): how far in `old` so many changes lead.
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
    """Of the words alone: every text has blanks."""
    before, after = (Counter(word for word in words if not word.isspace()) for words in (old, new))
    both = before.total() + after.total()
    return 2 * (before & after).total() / both if both else 1.0


def _begin(furthest: dict[int, int], diagonal: int, changes: int) -> tuple[int, int]:
    """From which diagonal the last change comes, and to where in `old` it leads: a word came, or a word went."""
    came = diagonal == -changes or (diagonal != changes and furthest[diagonal - 1] < furthest[diagonal + 1])
    return (diagonal + 1, furthest[diagonal + 1]) if came else (diagonal - 1, furthest[diagonal - 1] + 1)


def _walk_back(trail: list[dict[int, int]], at: int, diagonal: int) -> Iterator[tuple[int, int]]:
    """The words that stay, the last one first."""
    for changes in range(len(trail) - 1, -1, -1):
        former, begin = _begin(trail[changes], diagonal, changes)
        for place in range(at - 1, begin - 1, -1):
            yield place, place - diagonal
        at, diagonal = trail[changes][former], former
