#!/bin/sh
# Draws README.md's picture of the page about a run: trains reverse_task with --report, and takes a photograph of the
# page's section on attention with Chromium, without a window. The numbers are the same on every machine; fonts are not.
#
# usage: pictures.sh <reverse_task> <picture.png> <folder for what is in between>
set -eu
program=$1 picture=$2 folder=$3
browser=
for name in chromium chromium-browser google-chrome; do
    if command -v $name >/dev/null; then browser=$name; break; fi
done
if [ -z "$browser" ]; then
    echo "make pictures: there is no Chromium, so $picture stays as it is" >&2
    exit 0
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
"$program" --report "$folder/run.html" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
# A photograph begins at the top of a page; so the page is put into a frame, which begins at the section.
echo '<body style="margin: 0"><iframe src="run.html#attention" scrolling="no" style="border: 0; width: 1040px;
    height: 700px"></iframe>' >"$folder/frame.html"
"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1040,700 --virtual-time-budget=3000 \
    --user-data-dir="$folder/profile" --screenshot="$folder/page.png" "file://$folder/frame.html" >"$folder/log" 2>&1 ||
    { cat "$folder/log" >&2; exit 1; }
mv "$folder/page.png" "$picture"
echo "  drawn $picture"
