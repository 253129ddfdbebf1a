#!/usr/bin/env bash
# What the action does: `serin check` of the file as it is here, `serin plan` against the base of the pull request, and the
# result where people read it. Fails where the file has faults, not where something changes.
set -uo pipefail
serin=${SERIN:-$HOME/.cache/serin-action/bin/serin}
file=${SERIN_FILE:-monitors.yaml}
marker="<!-- serin review: $file -->"
# GitHub takes 65,536 characters of a comment; a run's summary more.
most=60000
work=$(mktemp -d)
git worktree add --quiet --detach "$work/base" "$SERIN_BASE" || exit 1
trap 'git worktree remove --force "$work/base"; rm -rf "$work"' EXIT

"$serin" check "$file" >"$work/check" 2>&1
checked=$?
planned=1
if [ "$checked" = 0 ] && [ -e "$work/base/$file" ]; then
    "$serin" plan "$work/base/$file" "$file" >"$work/plan" 2>&1
    planned=$?
fi
case $planned in
0) changes=false ;;
*) changes=true ;;
esac

# Text of ours between fences that nothing in it can close.
block() {
    echo '```text'
    head -c "$most" "$1" | sed -e "s/\`\`\`\`*/'''/g"
    [ "$(wc -c <"$1")" -le "$most" ] || printf '\n… %s more bytes; run the command here to read them\n' "$(($(wc -c <"$1") - most))"
    echo '```'
}
{
    echo "$marker"
    if [ "$checked" != 0 ]; then
        echo "### \`$file\` has faults and would not come into force"
        block "$work/check"
    elif [ ! -e "$work/base/$file" ]; then
        echo "### \`$file\` is new"
        block "$work/check"
    else
        case $planned in
        0) echo "### \`$file\`: nothing changes for monitors, receivers or routes" ;;
        2) echo "### \`$file\`: what would change" && block "$work/plan" ;;
        *) echo "### \`$file\`: the base could not be compared with" && block "$work/plan" ;;
        esac
        echo '<details><summary>serin check</summary>'
        echo
        block "$work/check"
        echo '</details>'
    fi
} >"$work/review.md"

cat "$work/review.md"
cat "$work/review.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
echo "changes=$changes" >>"${GITHUB_OUTPUT:-/dev/null}"
if [ "${SERIN_COMMENT:-true}" = true ] && [ -n "${SERIN_PULL:-}" ]; then
    comments="repos/$GITHUB_REPOSITORY/issues/$SERIN_PULL/comments"
    mine=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)
    # One comment that follows the pull request, instead of one a push. A fork's token may not write: the summary is there.
    if [ -n "$mine" ]; then
        gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$mine" --field body=@"$work/review.md"
    else
        gh api --silent --method POST "$comments" --field body=@"$work/review.md"
    fi || echo "::warning::the comment could not be written; the run's summary has the review"
fi
exit "$checked"
