"""Network addresses of clients: the real one behind proxies, and the network that limits apply to."""

import ipaddress
from functools import lru_cache

from django.conf import settings

# The IPv6 prefix that one household or one attacker has.
IPV6_PREFIX = 64


def client_address(*, peer: str, forwarded: str) -> str:
    """The address seen by the outermost trusted proxy (`forwarded`: X-Forwarded-For); entries left of it are client claims."""
    proxies = settings.TRUSTED_PROXIES
    if not proxies:
        return peer
    seen = [part.strip() for part in forwarded.split(",") if part.strip()]
    return seen[-proxies] if len(seen) >= proxies else peer


@lru_cache(maxsize=1024)
def network_of(address: str) -> str:
    """The network to count by: an IPv6 client owns at least a /64, so a single address identifies nothing."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found.packed, IPV6_PREFIX), strict=False))
