# The rows of scripts/bench goal as one picture: a line of panels for each number of processes, a column for each
# collective. From top to bottom: latency and processor time, both on a logarithmic axis, and overlap; from left to
# right the bytes of a block. Input: lines "WHO PROCESSES COLLECTIVE BYTES LATENCY OVERLAP CPU ...", several of each
# kind: the median is drawn. Variable: title.
function middle(list,   v, i, j, t, n) {
    n = split(list, v, " ")
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return v[int((n + 1) / 2)] + 0
}
function text(x, y, size, anchor, what) {
    gsub(/&/, "\\&amp;", what); gsub(/</, "\\&lt;", what)
    printf("<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, size, anchor, what)
}
function line(x, y, x2, y2, colour, width) {
    printf("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%s\"/>\n", \
        x, y, x2, y2, colour, width)
}
function log10(x) { return log(x) / log(10) }
# From the top of a panel, of a value.
function down(what, value,   low, high) {
    if (what == "overlap") return HIGH * (1 - value)
    low = least[what]; high = most[what]
    if (value < 10 ^ low) value = 10 ^ low
    return HIGH * (high - log10(value)) / (high - low)
}
function across(bytes,   i) {
    for (i = 1; i <= sizes; i++) if (size[i] == bytes) return WIDE * (i - .5) / sizes
    return 0
}
{
    if (!(($2 + 0) in have_n)) { have_n[$2 + 0] = 1; count_n++; list_n[count_n] = $2 + 0 }
    if (!($3 in have_c)) { have_c[$3] = 1; list_c[++count_c] = $3 }
    if (!($1 in have_w)) { have_w[$1] = 1; list_w[++count_w] = $1 }
    if (!(($4 + 0) in have_s)) { have_s[$4 + 0] = 1; size[++sizes] = $4 + 0 }
    key = $2 + 0 SUBSEP $3 SUBSEP $1 SUBSEP $4 + 0
    of["latency", key] = of["latency", key] " " $5
    of["overlap", key] = of["overlap", key] " " $6
    of["CPU", key] = of["CPU", key] " " $7
    seen[key] = 1
}
END {
    WIDE = 170; HIGH = 110; LEFT = 70; TOP = 60; GAP = 26
    for (i = 2; i <= sizes; i++)
        for (j = i; j > 1 && size[j - 1] > size[j]; j--) { t = size[j]; size[j] = size[j - 1]; size[j - 1] = t }
    for (i = 2; i <= count_n; i++)
        for (j = i; j > 1 && list_n[j - 1] > list_n[j]; j--) {
            t = list_n[j]; list_n[j] = list_n[j - 1]; list_n[j - 1] = t
        }
    split("latency CPU overlap", kinds, " ")
    for (k = 1; k <= 2; k++) { least[kinds[k]] = 9; most[kinds[k]] = -9 }
    for (key in seen)
        for (k = 1; k <= 2; k++) {
            value = middle(of[kinds[k], key])
            if (value <= 0) continue
            if (log10(value) < least[kinds[k]]) least[kinds[k]] = log10(value)
            if (log10(value) > most[kinds[k]]) most[kinds[k]] = log10(value)
        }
    for (k = 1; k <= 2; k++) {
        what = kinds[k]
        if (most[what] < least[what]) { least[what] = 0; most[what] = 1 }
        least[what] = (least[what] < 0 ? int(least[what] - .999) : int(least[what]))
        most[what] = (most[what] < 0 ? int(most[what]) : int(most[what] + .999))
        if (most[what] == least[what]) most[what]++
    }
    split("#b52a2a #1b7f5c #2a5ab5 #c98a00 #7a3fa0 #808080 #00899c #5c4a1b", colour, " ")
    width = LEFT + count_c * (WIDE + GAP) + 20
    height = TOP + count_n * 3 * (HIGH + GAP) + 30
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\">\n", \
        width, height)
    printf("<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height)
    text(10, 18, 13, "start", title)
    x = 10
    for (w = 1; w <= count_w; w++) {
        line(x, 34, x + 18, 34, colour[(w - 1) % 8 + 1], 2.5)
        text(x + 22, 38, 11, "start", list_w[w])
        x += 34 + 7 * length(list_w[w])
    }
    y = TOP
    for (a = 1; a <= count_n; a++)
        for (k = 1; k <= 3; k++) {
            what = kinds[k]
            for (c = 1; c <= count_c; c++) {
                x = LEFT + (c - 1) * (WIDE + GAP)
                printf("<g transform=\"translate(%.1f,%.1f)\">\n", x, y)
                printf("<rect width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#808080\"/>\n", WIDE, HIGH)
                if (k == 1) text(WIDE / 2, -5, 11, "middle", list_c[c] ", " list_n[a] " processes")
                if (what == "overlap") {
                    for (v = 0; v <= 1.01; v += .5) {
                        line(0, HIGH * (1 - v), WIDE, HIGH * (1 - v), "#d0d0d0", .5)
                        if (c == 1) text(-5, HIGH * (1 - v) + 4, 10, "end", sprintf("%.1f", v))
                    }
                } else
                    for (v = least[what]; v <= most[what]; v++) {
                        line(0, down(what, 10 ^ v), WIDE, down(what, 10 ^ v), "#d0d0d0", .5)
                        if (c == 1) text(-5, down(what, 10 ^ v) + 4, 10, "end", 10 ^ v)
                    }
                if (c == 1)
                    printf("<text transform=\"translate(-48,%d) rotate(-90)\" font-size=\"11\" " \
                           "text-anchor=\"middle\">%s</text>\n", HIGH / 2, what == "overlap" ? what : what ", us")
                for (i = 1; i <= sizes; i++)
                    if (k == 3)
                        text(across(size[i]), HIGH + 12, 9, "middle", size[i] >= 1024 ? size[i] / 1024 "K" : size[i])
                for (w = 1; w <= count_w; w++) {
                    points = ""; marks = ""; own = colour[(w - 1) % 8 + 1]
                    for (i = 1; i <= sizes; i++) {
                        key = list_n[a] SUBSEP list_c[c] SUBSEP list_w[w] SUBSEP size[i]
                        if (!(key in seen)) continue
                        at = sprintf("%.1f,%.1f", across(size[i]), down(what, middle(of[what, key])))
                        split(at, xy, ",")
                        points = points " " at
                        marks = marks sprintf("<circle cx=\"%s\" cy=\"%s\" r=\"2.5\" fill=\"%s\"/>", xy[1], xy[2], own)
                    }
                    if (points != "")
                        printf("<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>%s\n", \
                               points, own, marks)
                }
                print "</g>"
            }
            y += HIGH + GAP
        }
    print "</svg>"
}
