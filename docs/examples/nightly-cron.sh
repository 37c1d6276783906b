#!/bin/sh
# One night on one machine. crontab: 17 2 * * * /srv/normfuzz/docs/examples/nightly-cron.sh
# Mails the summary when there is something new (1) or something wrong (2, 3); the rest of the nights are silent.
set -u
normfuzz=${NORMFUZZ:-$(dirname "$0")/../../normfuzz}
home=${NIGHTLY_HOME:-$HOME/normfuzz-nightly}
day=$(date +%Y%m%d)
mkdir -p "$home" && cd "$home" || exit 2

# The day is the seed: a run that a reboot cut short continues when it is started again on that day. NIGHTLY_OPTIONS: such as
# "--targets onednn,torch --time 4h".
"$normfuzz" run ${NIGHTLY_OPTIONS:---time 2h} --seed "$day" --out "$day" --quiet >"$day.txt" 2>&1
status=$?

[ $status = 0 ] || ${MAILER:-mail} -s "normfuzz $day: exit status $status" "${MAILTO:-$(id -un)}" <"$day.txt"
# Two weeks are kept.
find . -maxdepth 1 -name '20??????*' -mtime +14 -exec rm -rf {} +
exit $status
