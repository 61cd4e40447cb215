package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"

	"telex/standin/host"
)

// Gone is the status of a call that gets no answer because the stand-in drops its connection.
const Gone = 0

// dripInterval is the time between two pieces of a slow download.
const dripInterval = 100 * time.Millisecond

// errBroken makes the rig drop the connection.
var errBroken = errors.New("connection broken off")

// Answer is an HTTP answer. The zero value drops the connection.
type Answer struct {
	Status      int
	ContentType string
	Header      http.Header // additional headers
	// RetryAfter is the value of the header Retry-After in seconds. 0 means that the answer has no such header.
	RetryAfter float64
	Body       []byte
	// Unsized means that the answer has no Content-Length header.
	Unsized bool

	cutMiddle bool // the rig drops the connection after half of the body
	rate      int  // bytes per second; 0: as fast as possible
}

// JSON returns an answer with a JSON body.
func JSON(status int, v any) Answer {
	return Answer{Status: status, ContentType: "application/json", Body: Encode(v)}
}

// Text returns an answer with a body that is not JSON.
func Text(status int, text string) Answer {
	return Answer{Status: status, ContentType: "text/plain; charset=utf-8", Body: []byte(text)}
}

// HTML returns the error page of a proxy in front of the platform. server is the proxy's name, or "".
func HTML(status int, server string) Answer {
	if server != "" {
		server = "<hr><center>" + server + "</center>\r\n"
	}
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return Answer{Status: status, ContentType: "text/html", Body: []byte("<html>\r\n<head><title>" + title +
		"</title></head>\r\n<body>\r\n<center><h1>" + title + "</h1></center>\r\n" + server + "</body>\r\n</html>\r\n")}
}

// Encode encodes a value as JSON. The stand-ins use Encode only for types that can always be encoded.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Appendf(nil, `{"error":%q}`, err.Error())
	}
	return data
}

// write sends the whole answer. write returns after the last byte was passed to the connection.
func (a Answer) write(ctx context.Context, w http.ResponseWriter, cut <-chan struct{}) error {
	h := w.Header()
	maps.Copy(h, a.Header)
	if a.ContentType != "" {
		h.Set("Content-Type", a.ContentType)
	}
	if a.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(a.RetryAfter))))
	}
	if !a.Unsized && a.Status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	if a.Unsized {
		// Without Flush, net/http would add a Content-Length header to a small body.
		if err := http.NewResponseController(w).Flush(); err != nil {
			return fmt.Errorf("flush headers: %w", err)
		}
	}
	switch {
	case a.cutMiddle:
		return errors.Join(piece(w, a.Body[:len(a.Body)/2]), errBroken)
	case a.rate > 0:
		return a.drip(ctx, w, cut)
	}
	return piece(w, a.Body)
}

// drip writes the body at the configured rate.
func (a Answer) drip(ctx context.Context, w http.ResponseWriter, cut <-chan struct{}) error {
	for rest, sent := a.Body, 0; len(rest) > 0; {
		sent++
		// The size of the next piece is the difference of two rounded totals: the bytes due by now, and the bytes due
		// one interval before. With this difference, rounding errors do not add up.
		due := a.rate*sent/int(time.Second/dripInterval) - a.rate*(sent-1)/int(time.Second/dripInterval)
		n := min(due, len(rest))
		if !host.Pause(dripInterval, cut) || ctx.Err() != nil {
			return errBroken
		}
		if err := piece(w, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// piece writes a part of the body and flushes this part to the connection.
func piece(w http.ResponseWriter, part []byte) error {
	if _, err := w.Write(part); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return fmt.Errorf("flush answer: %w", err)
	}
	return nil
}
