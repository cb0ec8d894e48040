#!/bin/sh
# put.sh FILE OBJECT TOKEN: puts FILE into the bucket at $S3_URL, unless a later holder has written.
set -eu
s3() { curl -sS --aws-sigv4 "aws:amz:$S3_REGION:s3" --user "$S3_KEY:$S3_SECRET" "$@"; }
field() { printf '%s\n' "$head" | tr -d '\r' | sed -n "s/^$1: *//Ip"; }
while true; do
    head=$(s3 --head "$S3_URL/$2")
    last=$(field x-amz-meta-token)
    case $(printf '%s\n' "$head" | sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p') in
    200) condition="If-Match: $(field etag)" ;;
    404) condition="If-None-Match: *" ;;
    *) echo "the store answers: $head" >&2; exit 1 ;;
    esac
    [ "$3" -ge "${last:-0}" ] || { echo "refused: $3 is older than $last" >&2; exit 1; }
    case $(s3 -o answer -w '%{http_code}' -H "$condition" -H "x-amz-meta-token: $3" -T "$1" "$S3_URL/$2") in
    200) exit 0 ;;
    409 | 412) ;;
    *) cat answer >&2; exit 1 ;;
    esac
done
