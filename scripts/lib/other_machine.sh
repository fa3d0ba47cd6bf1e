# Shell, to be sourced: Debian's packages of another architecture, unpacked and not installed, with package lists of
# their own: this machine's stay as they are.

# Reads the lists of this architecture's packages, into a folder that goes with the shell.
other_machine() { # ARCHITECTURE
    apt=$(mktemp -d)
    trap 'rm -rf "$apt"' EXIT
    # apt fetches as a user of its own.
    chmod 755 "$apt"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/files"
    : >"$apt/status"
    cat >"$apt/apt.conf" <<CONF
APT::Architectures { "$(dpkg --print-architecture)"; "$1"; };
APT::Sandbox::User "root";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
CONF
    export APT_CONFIG="$apt/apt.conf"
    apt-get -qq update
}

# Unpacks a package of that architecture into $apt/files.
other_files() { # PACKAGE:ARCHITECTURE[=VERSION]
    (cd "$apt/files" && apt-get -qq download "$1" && dpkg -x ./*.deb . && rm ./*.deb)
}
