"""The same through a proxy that the environment names (`HTTPS_PROXY`, `NO_PROXY`), by httpx."""

from collections.abc import Mapping
from urllib.request import getproxies, proxy_bypass

import httpx

from stillhere.http.answers import Answer
from stillhere.http.forks import renew_in_forks
from stillhere.http.given_up import GivenUp


def is_proxied(url: str) -> bool:
    parsed, proxies = httpx.URL(url), getproxies()
    return bool(proxies.get(parsed.scheme) or proxies.get("all")) and not proxy_bypass(parsed.host)


class Proxied:
    """For threads."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url, self._timeout = url, timeout
        self._of_parents: list[httpx.Client] = []
        self._client = httpx.Client(base_url=url, timeout=timeout)
        renew_in_forks(self)

    def send(
        self, method: str, target: str, headers: Mapping[str, str], content: bytes | None, given_up: GivenUp | None = None
    ) -> Answer:
        """`given_up`: httpx cannot end a request from another thread."""
        return answer_of(self._client.request(method, target, headers=headers, content=content))

    def close(self) -> None:
        self._client.close()

    def renew(self) -> None:
        """In a forked process. A thread of the parent may have been at work with its client, so that is left as it is."""
        self._of_parents.append(self._client)
        self._client = httpx.Client(base_url=self._url, timeout=self._timeout)


class AsyncProxied:
    """For one event loop."""

    def __init__(self, url: str, timeout: float) -> None:
        self._client = httpx.AsyncClient(base_url=url, timeout=timeout)

    async def send(self, method: str, target: str, headers: Mapping[str, str], content: bytes | None) -> Answer:
        return answer_of(await self._client.request(method, target, headers=headers, content=content))

    async def close(self) -> None:
        await self._client.aclose()


def answer_of(answer: httpx.Response) -> Answer:
    return Answer(answer.status_code, answer.headers, answer.content)
