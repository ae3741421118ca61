from stillhere.connection import Operation, Request
from stillhere.http.addresses import part
from stillhere.operations.records import Hit, Page, Project


def list_projects(*, limit: int = 50, cursor: str | None = None) -> Operation[Page[Project]]:
    """The most recently used first. `cursor`: `next` of the page before."""
    answer = yield Request("GET", "/projects", query=without_none(limit=limit, cursor=cursor), in_project=False)
    return Page(items=[Project.of(each) for each in answer["items"]], next=answer["next"])


def find_project(path: str) -> Operation[Project | None]:
    answer = yield Request("GET", "/projects", query={"path": path}, in_project=False)
    return next((Project.of(each) for each in answer["items"]), None)


def create_project(path: str, *, name: str = "") -> Operation[Project]:
    """As it is, if there is one at this path."""
    return Project.of((yield Request("POST", "/projects", {"path": path, "name": name}, in_project=False)))


def get_project() -> Operation[Project]:
    """The one of this client."""
    return Project.of((yield Request("GET", "/projects/{project}")))


def search(
    text: str,
    *,
    within: str = "titles,messages",
    everywhere: bool = False,
    role: str | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Operation[Page[Hit]]:
    """Newest first. `within`: of titles, messages, memory, handoff, errors, separated by commas. `everywhere`: in all projects
    of the account. A page may have fewer hits than `limit`, or none, and still a `next`, which is the next `cursor`."""
    project = None if everywhere else (yield from get_project()).id
    query = without_none(q=text, role=role, limit=limit, cursor=cursor, project=project)
    answer = yield Request("GET", "/search", query={**query, "in": within}, in_project=not everywhere)
    return Page(items=[Hit.of(each) for each in answer["items"]], next=answer["next"])


def without_none(**query: object) -> dict[str, object]:
    return {name: value for name, value in query.items() if value is not None}


def session_path(session: str) -> str:
    return f"/sessions/{part(checked_id(session))}"


def checked_id(session: str) -> str:
    """An id of a session, the server's or your own. Raises TypeError for what is no text, and ValueError for one that has no
    address."""
    if not isinstance(session, str):
        raise TypeError(f"The id of a session is a text, not {type(session).__name__}: {session!r}")
    if not session:
        raise ValueError("The id of a session is not empty.")
    if session in {".", ".."}:
        raise ValueError("The id of a session is neither `.` nor `..`.")
    return session
