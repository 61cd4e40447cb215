//go:build !linux

package app

func releaseProgramPages() error { return nil }
