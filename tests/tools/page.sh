#!/bin/sh
# The policy of apps/kit/run_page.html allows only its own style and script, by their hashes. This writes the hashes
# anew after a change; `make lint` looks whether they are right.
#
# usage: page.sh [--check]     (in the repository's root; needs sha256sum, or shasum)
set -eu
page=apps/kit/run_page.html
hash() {  # of what stands between <$1> and </$1>
    awk -v tag="$1" '
        { all = all $0 "\n" }
        END {
            from = index(all, "\n<" tag ">") + length(tag) + 3
            rest = substr(all, from)
            printf "%s", substr(rest, 1, index(rest, "</" tag ">") - 1)
        }' "$page" | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c 1-64 | awk '
        {  # hexadecimal to base64: three bytes, six digits, are four characters
            digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
            for (i = 1; i <= 64; i += 6) {
                n = 0
                for (k = i; k < i + 6; ++k) n = n * 16 + (k > 64 ? 0 : index("0123456789abcdef", substr($0, k, 1)) - 1)
                out = out substr(digits, int(n / 262144) + 1, 1) substr(digits, int(n / 4096) % 64 + 1, 1) \
                          substr(digits, int(n / 64) % 64 + 1, 1) substr(digits, n % 64 + 1, 1)
            }
            print substr(out, 1, 43) "="
        }'
}
policy="default-src 'none'; style-src 'sha256-$(hash style)'; script-src 'sha256-$(hash script)'"
if grep -qF "content=\"$policy\"" "$page"; then exit 0; fi
if [ "${1:-}" = --check ]; then
    echo "$page: its policy does not have the hashes of its style and script; tests/tools/page.sh writes them"
    exit 1
fi
escaped=$(printf '%s\n' "$policy" | sed 's/[&|\\]/\\&/g')
sed "s|content=\"default-src [^\"]*\"|content=\"$escaped\"|" "$page" > "$page.new" && mv "$page.new" "$page"
