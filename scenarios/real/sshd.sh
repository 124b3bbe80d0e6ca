#!/bin/sh
# An ssh server for one login, for scenarios/real/ssh.toml: keys of its own, nothing of the host's configuration, no
# password. It runs as whoever runs it and lets nobody else in. Needs openssh-server and openssh-client.
#
#     sh sshd.sh server          serves on port 2222 until it is ended; the keys lie in $KEYS
#     sh sshd.sh login [WORD...] logs in at `server`: runs the words there, or a shell
#
# KEYS is a folder that both see; without it, one in /tmp with the user's number in its name.
set -eu
KEYS=${KEYS:-/tmp/williwaw-ssh-$(id -u)}
case $1 in
server)
    rm -rf "$KEYS"
    mkdir -m 700 "$KEYS"
    ssh-keygen -q -t ed25519 -N '' -f "$KEYS/host"
    ssh-keygen -q -t ed25519 -N '' -f "$KEYS/user"
    cp "$KEYS/user.pub" "$KEYS/allowed"
    # Started by root it wants this folder; it is not there where no such server was ever started.
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    exec "$(command -v sshd || echo /usr/sbin/sshd)" -D -e -p 2222 -h "$KEYS/host" -f /dev/null \
        -o AuthorizedKeysFile="$KEYS/allowed" -o StrictModes=no -o PasswordAuthentication=no \
        -o KbdInteractiveAuthentication=no -o UsePAM=no -o PermitRootLogin=prohibit-password -o PidFile=none
    ;;
login)
    shift
    # The server is up when it listens, its keys were there before.
    exec ssh -tt -q -p 2222 -i "$KEYS/user" -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null server "$@"
    ;;
esac
