#!/bin/sh
# An interpreter that never gets ready.
exec sleep 60
