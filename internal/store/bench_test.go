package store_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"telex/internal/chat"
	"telex/internal/store"
)

// These benchmarks measure the two most frequent writes of a daemon, with and without waiting for the disk. The
// difference between the two results is the cost of surviving a power loss.

func BenchmarkAccept(b *testing.B) {
	c := private("1")
	syncs(b, func(b *testing.B, s *store.Store, i int) {
		in := message(c, chat.MessageID(strconv.Itoa(i)))
		in.Resume = string(in.ID)
		if _, err := s.Accept(b.Context(), c, in); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	part := chat.Part{State: chat.PartStands, Source: strings.Repeat("text ", 400), Cursor: true, Key: "k"}
	syncs(b, func(b *testing.B, s *store.Store, i int) {
		if i == 0 {
			_, err := s.Accept(b.Context(), private("1"), message(private("1"), "1"))
			if err := errors.Join(err, s.Begin(b.Context(), turnOf("t", private("1"), "1"))); err != nil {
				b.Fatal(err)
			}
		}
		part.Text = part.Source[:i%len(part.Source)] // change the text in each step, because storing an unchanged part writes nothing
		if err := s.Record(b.Context(), "t", part); err != nil {
			b.Fatal(err)
		}
	})
}

func syncs(b *testing.B, do func(*testing.B, *store.Store, int)) {
	for _, how := range []string{"FULL", "NORMAL", "OFF"} {
		b.Run("sync="+how, func(b *testing.B) {
			s, err := store.Open(b.Context(), store.Options{Path: filepath.Join(b.TempDir(), "telex.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			}()
			if _, err := store.Writer(s).ExecContext(b.Context(), "PRAGMA synchronous="+how); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				do(b, s, i)
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// Opening a store takes longer if the file is larger, because the store checks the whole file.
func BenchmarkOpen(b *testing.B) {
	for _, megabytes := range []int{0, 16} {
		b.Run(strconv.Itoa(megabytes)+"MB", func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "telex.db")
			open := func() *store.Store {
				s, err := store.Open(b.Context(), store.Options{Path: path})
				if err != nil {
					b.Fatal(err)
				}
				return s
			}
			s := open()
			entry := strings.Repeat("x", 1000)
			for range megabytes {
				if err := store.Append(b.Context(), s, private("1"), slices.Repeat([]string{entry}, 1000)...); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := open().Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
