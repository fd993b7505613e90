#!/bin/bash
# Run the demo and the tests on a Debian 12 that has Python, venv, git and make, and nothing else that apt does not need.
#
#     TESTS=PATHS tools/bare.sh      as root, on Debian 12
#
# build/bare becomes the root of that Debian. The last commit is cloned into it, and each command runs there with mounts and
# process ids of its own, which end with the command, and all with this script. Only the way to packages is copied from this
# machine: apt's sources, name servers, certificates, and the settings of pip, uv, npm and Maven.
set -euo pipefail

PACKAGES=python3,python3-venv,git,make
SETTINGS=(
    /etc/hosts /etc/resolv.conf /etc/apt/{auth.conf,auth.conf.d,keyrings,trusted.gpg,trusted.gpg.d} /usr/share/keyrings
    /usr/local/share/ca-certificates /etc/pip.conf /etc/xdg/pip /etc/npmrc
    ~/.pip ~/.config/{pip,uv} ~/.npmrc ~/.m2/{settings,settings-security}.xml
)
VARIABLES='^(PIP|UV|MAVEN|npm_config|NPM_CONFIG)_|_(proxy|PROXY)$'
VARIABLES+='|^(SSL_CERT_FILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|GIT_SSL_CAINFO)$'
CHECKOUT=/root/windrow

refuse() {
    echo "bare: $1" >&2
    exit 2
}

step() { # step TEXT COMMAND...
    doing=$1 began=$SECONDS
    printf '\nbare: %s\n' "$doing"
    "${@:2}"
    printf 'bare: %s: %s s\n' "$doing" $((SECONDS - began))
}

say_what_failed() {
    local code=$?
    [ $code = 0 ] || printf 'bare: %s: failed after %s s; %s is left as it was\n' "$doing" $((SECONDS - began)) "$root" >&2
}

alone() { # alone COMMAND...: give it mounts and process ids of its own; what it leaves running ends with it, or with this script
    setpriv --pdeathsig KILL unshare --mount --pid --kill-child --mount-proc "$@"
}

install_mmdebstrap() {
    apt-get -o DPkg::Lock::Timeout=300 update
    apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends mmdebstrap
}

make_root() {
    local sources options
    mapfile -t sources < <(find /etc/apt/sources.list /etc/apt/sources.list.d -type f -regex '.*\.\(list\|sources\)' 2>/dev/null)
    mapfile -t options < <(grep -rlsE '^\s*Acquire' /etc/apt/apt.conf /etc/apt/apt.conf.d)
    options=("${options[@]/#/--aptopt=}")
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    alone mmdebstrap --quiet --mode=root --variant=apt --include=$PACKAGES "${options[@]}" bookworm "$root" "${sources[@]}"
}

copy_settings() {
    local path
    variables=()
    for path in $(compgen -e | grep -E "$VARIABLES"); do
        variables+=("$path=${!path}")
        SETTINGS+=("${!path}") # a folder of wheels, a file of certificates
    done
    for path in "${SETTINGS[@]}"; do
        if [[ $path = /* && -e $path ]]; then (cd / && cp --archive --dereference --parents "${path#/}" "$root"); fi
    done
    if [ ~ != /root ] && [ -d "$root$HOME" ]; then cp --archive "$root$HOME/." "$root/root"; fi
    inside update-ca-certificates # those of this machine too, for Java as well
}

clone() {
    git clone --quiet --no-hardlinks "$repository" "$root$CHECKOUT"
}

inside() { # inside COMMAND...: run it in the checkout, in the root; bash collects the processes that lose their parents
    # shellcheck disable=SC2016
    alone bash -c '
        mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"
    ' "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "TERM=${TERM-dumb}" \
        "${variables[@]}" bash -c 'cd "$0" && "$@"; exit' "$CHECKOUT" "$@"
}

[ "$(id -u)" = 0 ] || refuse "only root can make a Debian and run commands in it: sudo make bare"
grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release || refuse "packages come from this machine's sources, but it is no Debian 12"
repository=$(realpath "$(dirname "$0")/..")
root=$repository/build/bare
trap say_what_failed EXIT

type -P mmdebstrap >/dev/null || step "install mmdebstrap on this machine" install_mmdebstrap
step "make a Debian 12 with $PACKAGES in $root" make_root
step "clone the last commit; $(git -C "$repository" status --porcelain | wc -l) files differ from it" clone
step "copy the settings of the way to packages" copy_settings
step "make demo" inside make demo
step "make test TESTS=${TESTS-}" inside make test "TESTS=${TESTS-}"
step "make servers pouchdb" inside make servers pouchdb
step "make test TESTS=${TESTS-}, where a server that is missing is an error" inside make test "TESTS=${TESTS-}" CI=true
step "remove $root" rm -rf --one-file-system "$root"
printf '\nbare: all well after %s s\n' $SECONDS
