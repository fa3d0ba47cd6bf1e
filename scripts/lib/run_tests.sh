#!/bin/sh
# What scripts/test does with the files that hold tests. Run at the repository's root:
#   run_tests.sh list LIST                    builds the tests, and writes a line for each file: product, crate, name,
#                                             file
#   run_tests.sh fill LIST PRODUCT FOLDER [ARGUMENT]... runs those of one product (`all`, or `-`), with ARGUMENTs for
#                                             each, and keeps in FOLDER what they print
#   run_tests.sh run LIST PRODUCT [ARGUMENT]... the same, unless HETMP_TEST_POOL names a FOLDER that has been filled;
#                                             then prints it: each file's output as a whole, under a line with its name
#                                             and its seconds, of time and of processors. A test that fails runs once
#                                             more, alone: one that then passes is named as unsteady
# As many run at a time as HETMP_TEST_FILES says, or one more than there are processors, since many wait.
# HETMP_TEST_SLOW=FILE: each runs one test after the other, and the seconds of each test go to FILE. PRODUCT `-` leaves
# out harnesses of their own, whose ignored tests are those that cannot run. Cargo starts `run_tests.sh note LIST FILE`
# in place of each test, and `fill` starts `run_tests.sh one LIST NUMBER FOLDER`.
set -u
plain="env -u HETMP_TEST_SLOW -u HETMP_TEST_FILES -u HETMP_TEST_POOL"
tab=$(printf '\t')

# Everything that is no other product's is `tools`.
product_of() { # CRATE NAME
    case $1/$2 in
    runtime/core/* | runtime/allocator/* | runtime/sched/* | runtime/lab/*) echo openmp ;;
    runtime/scan/* | runtime/omp/*) echo openmp ;;
    runtime/dsm*/* | abi-compat/dsm) echo dsm ;;
    runtime/nic/* | runtime/shmem/* | abi-compat/surface/* | abi-compat/shmem | abi-compat/gio) echo shmem ;;
    runtime/goal*/* | abi-compat/goal) echo goal ;;
    runtime/mq/* | abi-compat/mq | abi-compat/simd | abi-compat/apps) echo queues ;;
    abi-compat/differential | abi-compat/static_loops | abi-compat/exports | abi-compat/nodes | abi-compat/profile | \
        abi-compat/reach | abi-compat/report | abi-compat/tool | abi-compat/archer | abi-compat/one_runtime | \
        abi-compat/kernels) echo openmp ;;
    *) echo tools ;;
    esac
}

case $1 in
list)
    host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
    # Cargo starts each test in its crate's folder.
    case $2 in
    /*) found=$2.found ;;
    *) found=$PWD/$2.found ;;
    esac
    : >"$found"
    env "CARGO_TARGET_${host}_RUNNER=$PWD/scripts/lib/run_tests.sh note $found" \
        cargo test --locked --workspace --exclude hetmp --quiet --tests || exit
    while IFS=$tab read -r folder file; do
        crate=${folder#"$PWD/"}
        name=${file##*/}
        name=${name%-*}
        printf '%s\t%s\t%s\t%s\n' "$(product_of "$crate" "$name")" "$crate" "$name" "$file"
    done <"$found" >"$2"
    rm "$found"
    ;;
note)
    printf '%s\t%s\n' "$PWD" "$3" >>"$2"
    ;;
fill)
    list=$2
    product=$3
    folder=$4
    shift 4
    [ -s "$list" ] || {
        echo "hetmp: $list: not there (expected what test-build writes)"
        exit 1
    }
    # What took longest the last time begins first, so that nothing long runs alone at the end.
    touch "$list.seconds"
    awk -F '\t' -v product="$product" '
        # Lists with spaces, in a program whose fields end at tabs.
        BEGIN {
            split("differential static_loops simd shmem goal jobs", names, " "); for (n in names) own[names[n]]
            n = split("jobs mq apps nodes gio packages dsm goal simd static_loops differential shmem", names, " ")
            for (i = 1; i <= n; i++) long[names[i]] = i
        }
        FILENAME != ARGV[2] { took[$1] = $2; next }
        product == "-" ? !($3 in own) : product == "all" || $1 == product {
            print ($2 "/" $3 in took ? took[$2 "/" $3] : 0 + long[$3]) "\t" FNR
        }' "$list.seconds" "$list" |
        sort -rn | cut -f 2 |
        xargs -P "${HETMP_TEST_FILES:-$(($(nproc) + 1))}" -I NUMBER "$0" one "$list" NUMBER "$folder" "$@"
    # What failed is in the folder.
    exit 0
    ;;
run)
    list=$2
    product=$3
    shift 3
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    trap 'cat "$folder"/*.whole; exit 130' INT TERM
    if [ -n "${HETMP_TEST_POOL-}" ]; then
        awk -F '\t' -v product="$product" '$1 == product { print FNR }' "$list" | while read -r number; do
            mv "$HETMP_TEST_POOL/$number".* "$folder" || printf 'file %s ' "$number" >"$folder/$number.failed"
        done
    else
        "$0" fill "$list" "$product" "$folder" "$@" || exit
    fi
    cat "$folder"/*.whole
    cat "$folder"/*.again >"$folder/again" 2>/dev/null
    cat "$folder"/*.failed >"$folder/failed" 2>/dev/null
    unsteady=0
    while IFS=$tab read -r number test; do
        IFS=$tab read -r _ crate name file <<LINE
$(sed -n "${number}p" "$list")
LINE
        if (cd "$crate" && exec $plain "$file" "$@" --exact "$test") >"$folder/alone" 2>&1 </dev/null &&
            grep -q '^test result: ok\. 1 passed' "$folder/alone"; then
            echo "unsteady: $test of $name failed, and passed when run alone"
            unsteady=$((unsteady + 1))
        else
            echo "== $test of $name, alone"
            cat "$folder/alone"
            printf '%s ' "$name" >>"$folder/failed"
        fi
    done <"$folder/again"
    [ ! -s "$folder/failed" ] || echo "failed: $(cat "$folder/failed")"
    cat "$folder"/*.counts | awk -v unsteady="$unsteady" '{ p += $1; f += $2; s += $3 }
        END { print p + unsteady " passed, " f - unsteady " failed, " s + 0 " skipped" }'
    [ ! -s "$folder/failed" ]
    ;;
one)
    line=$(sed -n "$3p" "$2")
    list=$2
    number=$3
    folder=$4
    shift 4
    IFS=$tab read -r _ crate name file <<LINE
$line
LINE
    began=$(date +%s)
    if [ -n "${HETMP_TEST_SLOW-}" ]; then
        {
            (cd "$crate" && exec $plain "$file" --test-threads=1 "$@") 2>&1 </dev/null
            echo $? >"$folder/$number.status"
        } |
            while IFS= read -r line; do
                printf '%s\t%s\n' "$(date +%s.%N)" "$line"
            done | awk -F '\t' -v name="$name" -v slow="$HETMP_TEST_SLOW" '
                /\ttest .* (ok|FAILED)$/ {
                    split($2, words, " ")
                    printf "%8.2f s  %s of %s\n", $1 - last, words[2], name >>slow
                }
                { last = $1; sub(/^[^\t]*\t/, ""); print }' >"$folder/$number"
        read -r status <"$folder/$number.status"
    else
        (cd "$crate" && exec $plain "$file" "$@") >"$folder/$number" 2>&1 </dev/null
        status=$?
    fi
    took=$(($(date +%s) - began))
    # Of the programs that were started, on all processors: what a quiet machine cannot do without.
    times >"$folder/$number.times"
    busy=$(awk 'NR == 2 { split($1 "m" $2, t, "[ms]+"); printf "%d", (t[1] + t[3]) * 60 + t[2] + t[4] }' \
        "$folder/$number.times")
    printf '%s\t%s\t%s\n' "$crate/$name" "$took" "$busy" >>"$list.seconds"
    # Few enough to be a matter of load, not of the change. A file that crashes names no test.
    if [ "$status" != 0 ]; then
        sed -n 's/^test \(.*[^ ]\) *\.\.\. FAILED$/\1/p' "$folder/$number" >"$folder/$number.names"
        case $(wc -l <"$folder/$number.names") in
        [123]) sed "s/^/$number$tab/" "$folder/$number.names" >"$folder/$number.again" ;;
        *) printf '%s ' "$name" >"$folder/$number.failed" ;;
        esac
    fi
    awk '/^test result: / { p += $4; f += $6; s += $8 } END { print p + 0, f + 0, s + 0 }' \
        "$folder/$number" >"$folder/$number.counts"
    {
        bad=$([ "$status" = 0 ] || echo ", FAILED with status $status")
        echo "== $name of $crate, $took s, $busy s of processors$bad"
        cat "$folder/$number"
    } >"$folder/$number.whole"
    rm "$folder/$number"
    ;;
esac
