"""A real WordPress, Debian's, on PHP's own web server and the MariaDB of the tests: it has thirty posts at first."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from benchmarks.daemon import free_port

from tests.servers.daemon import absent, drop_root, find, home, running
from tests.servers.mariadb import connect

PACKAGE = Path("/usr/share/wordpress")
USER = "www-data"
CONFIGURATION = """<?php
define('DB_NAME', '{name}'); define('DB_USER', 'root'); define('DB_PASSWORD', '');
define('DB_HOST', '127.0.0.1:{database}'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('WP_HOME', '{url}'); define('WP_SITEURL', '{url}');
define('WP_ENVIRONMENT_TYPE', 'local');  // application passwords over http
define('DISABLE_WP_CRON', true); define('AUTOMATIC_UPDATER_DISABLED', true); define('WP_HTTP_BLOCK_EXTERNAL', true);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $one) {{ define($one . '_KEY', $one); define($one . '_SALT', $one); }}
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
ROUTER = """<?php  // a file is served as it is, all else is WordPress's
$path = urldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/');
if ($path !== '/' && is_file($_SERVER['DOCUMENT_ROOT'] . $path)) return false;
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
require $_SERVER['DOCUMENT_ROOT'] . '/index.php';
"""
SEED = """<?php
[, $folder, $host] = $argv;
$_SERVER += ['HTTP_HOST' => $host, 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1'];
define('WP_INSTALLING', true);
require "$folder/wp-load.php";
function wp_new_blog_notification() {}
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Test Press', 'admin', 'admin@example.invalid', true, '', 'admin');
wp_installing(false); wp_cache_flush();
update_option('default_ping_status', 'closed'); update_option('ping_sites', ''); update_option('timezone_string', 'UTC');
global $wp_rewrite;
$wp_rewrite->set_permalink_structure('/%year%/%monthnum%/%day%/%postname%/'); $wp_rewrite->flush_rules(false);
foreach ([1, 2, 3] as $number) wp_delete_post($number, true);
wp_set_current_user(1);
$other = wp_insert_user(['user_login' => 'ines', 'user_pass' => 'ines', 'display_name' => 'Inés Müller', 'role' => 'author']);
foreach (['News', 'Sport & Leisure', 'Opinion'] as $name) $categories[] = wp_insert_category(['cat_name' => $name]);
for ($number = 0; $number < 30; $number++) {
    $at = gmdate('Y-m-d H:i:s', gmmktime(8 + $number % 6, 0, 0, 3, 1 + intdiv($number, 6), 2024));
    wp_insert_post(wp_slash([
        'post_title' => $number == 7 ? '🦀 Crabs & “quotes” < 5 — café' : "Story number $number",
        'post_content' => "<p>Body of story $number: &amp; &lt;b&gt; 𝄞.</p>\\n\\n<p>Second paragraph.</p>",
        'post_status' => 'publish', 'post_date' => $at, 'post_date_gmt' => $at, 'post_author' => $number % 3 ? $other : 1,
        'post_category' => [$categories[$number % 3]], 'tags_input' => [$number % 2 ? 'odd' : 'even'],
    ]), true);
}
echo WP_Application_Passwords::create_new_application_password(1, ['name' => 'tests'])[0];
"""


@dataclass(frozen=True)
class WordPress:
    """A running site: its address, and the user who may write to it."""

    url: str
    password: str

    def call(self, method: str, path: str, **fields: Any) -> Any:
        """Call its REST API as administrator."""
        user = base64.b64encode(f"admin:{self.password}".encode()).decode()
        request = urllib.request.Request(
            f"{self.url}/wp-json/wp/v2/{path}", json.dumps(fields).encode(), method=method,
            headers={"Authorization": f"Basic {user}", "Content-Type": "application/json"},
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def publish_scheduled(self) -> None:
        """Let it publish the posts that are due."""
        with urllib.request.urlopen(f"{self.url}/wp-cron.php?doing_wp_cron={time.time():.6f}", timeout=60) as answer:
            answer.read()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/wp-json/", timeout=60) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def find_package(folder: Path) -> None:
    """Skip without WordPress, or if it has no theme: then every page is empty, with status 200."""
    if not folder.is_dir():
        absent("WordPress")
    if not any(folder.glob("wp-content/themes/*/style.css")):
        absent("a theme of WordPress")


@pytest.fixture
def wordpress(mariadb_server: int) -> Iterator[WordPress]:
    """Install WordPress into a database of its own, and run it."""
    php = find("php")
    find_package(PACKAGE)
    port = free_port()
    url, name = f"http://127.0.0.1:{port}", f"wordpress_{port}"
    with connect(mariadb_server) as link, link.cursor() as cursor, home(USER) as folder:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
        site = folder / "site"
        shutil.copytree(PACKAGE, site, ignore=shutil.ignore_patterns("wp-config.php"), ignore_dangling_symlinks=True)
        (site / "wp-config.php").write_text(CONFIGURATION.format(name=name, database=mariadb_server, url=url))
        (folder / "router.php").write_text(ROUTER)
        (folder / "seed.php").write_text(SEED)
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", f"{USER}:", str(folder)], check=True)
        seed = [*drop_root(USER), php, str(folder / "seed.php"), str(site), f"127.0.0.1:{port}"]
        done = subprocess.run(seed, capture_output=True, text=True, cwd=folder, check=False, timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr
        serve = [
            *(*drop_root(USER), php, "-d", "opcache.enable_cli=1"),
            *("-S", f"127.0.0.1:{port}", "-t", str(site), str(folder / "router.php")),
        ]
        with running(serve, folder / "log", lambda: _answers(url)):
            yield WordPress(url, done.stdout.strip().splitlines()[-1])
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
