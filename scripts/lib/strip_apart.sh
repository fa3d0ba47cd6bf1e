# shellcheck shell=sh
# Debug information apart from programs and libraries: for scripts.

# Moves the debug information of FILE into .debug/NAME.debug in FILE's folder, where debuggers, valgrind and perf look
# for it by the link that FILE gets. NAME is what FILE will be called.
strip_apart() { # FILE NAME
    mkdir -p "$(dirname "$1")/.debug"
    apart=$(dirname "$1")/.debug/$2.debug
    objcopy --only-keep-debug "$1" "$apart.new"
    chmod 644 "$apart.new"
    mv -f "$apart.new" "$apart"
    objcopy --strip-unneeded --add-gnu-debuglink="$apart" "$1"
}
