"""`/docs`: a page of our own that loads nothing from elsewhere and never reads text as markup."""

from __future__ import annotations

import re

import httpx2
import pytest

from evigraph.server.routes.page import MEDIA_TYPES, STATIC

from .serving import problem_of


@pytest.fixture(scope="module")
def parts(client: httpx2.Client) -> dict[str, httpx2.Response]:
    """The page and what it names, as a browser finds them."""
    page = client.get("/docs")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    return {"/docs": page, **{name: client.get(str(page.url.join(name).path)) for name in named}}


def test_the_page_and_its_parts_are_served(parts: dict[str, httpx2.Response]) -> None:
    assert set(parts) == {"/docs", "docs/page.js", "docs/page.css"}
    kinds = {name: part.headers["content-type"].partition(";")[0] for name, part in parts.items()}
    assert kinds == {"/docs": "text/html", "docs/page.js": "text/javascript", "docs/page.css": "text/css"}
    assert {path.name for path in STATIC.iterdir()} == set(MEDIA_TYPES)


def test_nothing_comes_from_elsewhere(parts: dict[str, httpx2.Response]) -> None:
    for part in parts.values():
        assert part.status_code == 200
        assert not re.search(r"https?:|[\"'(]//|@import|url\(", part.text)
        policy = part.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy and "*" not in policy and ":" not in policy
        assert part.headers["x-content-type-options"] == "nosniff"


def test_the_policy_lets_the_page_run(parts: dict[str, httpx2.Response]) -> None:
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", parts["/docs"].text)


def test_text_is_never_markup(parts: dict[str, httpx2.Response]) -> None:
    script = parts["docs/page.js"].text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|DOMParser", script)
    assert "textContent" in script and 'fetch("openapi.json")' in script
    for name in re.findall(r'getElementById\("(\w+)"\)', script):
        assert f'id="{name}"' in parts["/docs"].text


def test_other_pages_are_not_there(client: httpx2.Client) -> None:
    for path in ("/docs/page.py", "/docs/..%2Fapp.py", "/docs/oauth2-redirect", "/redoc"):
        problem_of(client.get(path), 404, "unknown_path")
