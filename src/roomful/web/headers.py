"""What every answer says to browsers. There are no CORS headers: no other origin may read anything."""

_EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
API_HEADERS = {
    **_EVERYWHERE,
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
PAGE_HEADERS = {
    **_EVERYWHERE,
    "cache-control": "no-cache",
    # A link that somebody wrote would otherwise have its host looked up before anybody presses it.
    "x-dns-prefetch-control": "off",
    "content-security-policy": (
        "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
}
