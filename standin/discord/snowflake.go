package discord

import (
	"strconv"
	"time"
)

// snowflakeEpoch is the start of 2015 in milliseconds. Source: https://docs.discord.com/developers/reference#snowflakes
const snowflakeEpoch = 1420070400000

// virtualEpoch is 2026-01-01 in milliseconds. Ids begin at virtualEpoch if the clock is before snowflakeEpoch, as in a
// synctest bubble.
const virtualEpoch = 1767225600000

// snowflakes creates ids that increase with time. Server.mu guards it.
type snowflakes struct {
	shift int64 // milliseconds added to the clock
	last  int64
}

func newSnowflakes(now time.Time) snowflakes {
	if now.UnixMilli() > snowflakeEpoch {
		return snowflakes{}
	}
	return snowflakes{shift: virtualEpoch - now.UnixMilli()}
}

func (s *snowflakes) next(now time.Time) string {
	s.last = max(s.last+1, (now.UnixMilli()+s.shift-snowflakeEpoch)<<22)
	return strconv.FormatInt(s.last, 10)
}

// isSnowflake reports whether id can be a snowflake: a positive number of 64 bits.
func isSnowflake(id string) bool {
	n, err := strconv.ParseInt(id, 10, 64)
	return err == nil && n > 0 && strconv.FormatInt(n, 10) == id
}

// older reports whether the id a was created before the id b.
func older(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}
