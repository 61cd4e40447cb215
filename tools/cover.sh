#!/bin/sh
# cover.sh PROFILE PERCENT GROUP...: fail if tests cover less than PERCENT % of the statements in a group of packages. A group is a
# package and the packages in its subfolders. The profile was made without -coverpkg, so it contains only the coverage of each
# package by its own tests. The script ignores packages whose names end in "test", because only tests import them.
set -eu
profile=$1 percent=$2
shift 2
module=$(go list -m)
status=0
for group; do
	awk -v prefix="$module/$group/" -v group="$group" -v want="$percent" '
		index($0, prefix) == 1 {
			package = $1
			sub(/\/[^\/]*$/, "", package)
			if (package ~ /test$/) next
			total[package] += $2; all += $2
			if ($3 > 0) { covered[package] += $2; good += $2 }
		}
		END {
			if (all == 0) { printf "cover: %s: no statements in the profile\n", group; exit 1 }
			got = 100 * good / all
			verdict = got < want ? "BELOW " want " %" : "ok"
			printf "cover: %-40s %5.1f %% of %d statements, %s\n", group, got, all, verdict
			for (package in total)
				printf "cover:   %-38s %5.1f %%\n", package, 100 * covered[package] / total[package]
			exit got < want
		}' "$profile" || status=1
done
exit $status
