package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxFile is the maximum size of the configuration file in bytes.
const maxFile = 1 << 20

// Load reads and parses the file at path; see [Parse].
func Load(path string, env Env) (*Config, error) {
	data, mode, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c, err := Parse(path, data, env)
	if err == nil && mode.Perm()&0o004 != 0 && c.hasSecret(data) {
		c.Warnings = append(c.Warnings, path+":1:1: everybody on this machine can read this file, and it contains secrets; make it 0600")
	}
	return c, err
}

// shortSecret is a length in bytes. hasSecret ignores secrets that are not longer, because the file may contain such a short
// text by chance.
const shortSecret = 8

// hasSecret reports whether the text of the file contains a secret, instead of a reference to a secret file or to an
// environment variable.
func (c *Config) hasSecret(text []byte) bool {
	return slices.ContainsFunc(c.sensitive, func(s Secret) bool {
		return len(s.Reveal()) > shortSecret && bytes.Contains(text, []byte(s.Reveal()))
	})
}

func read(path string) (data []byte, mode fs.FileMode, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	return data, info.Mode(), err
}

// Parse parses the text of a configuration file. name is the file's name: errors show it, and relative paths of secret
// files start at its directory. Parse reports all errors at once, as an [Errors].
//
// Parse accepts a configuration without platforms, because some commands need no platform; [Config.CheckRun] reports
// missing platforms.
func Parse(name string, data []byte, env Env) (*Config, error) { return parse(name, data, env, nil) }

// parse is like Parse, but takes the contents of secret files from the map passed, by name. If the map passed is nil, parse
// reads the secret files from the disk.
func parse(name string, data []byte, env Env, passed map[string][]byte) (*Config, error) {
	d := newDecoder(name, env)
	d.bundled = passed
	c := d.parse(data)
	if err := d.failure(); err != nil {
		return nil, err
	}
	c.file, c.positions, c.sensitive = name, d.positions, d.sensitive
	for _, w := range d.warnings.sorted() {
		c.Warnings = append(c.Warnings, w.Error())
	}
	return c, nil
}

// failure returns all errors, with secrets masked, or nil if there are none.
func (d *decoder) failure() error {
	for _, e := range d.errs {
		e.Message, e.Hint = mask(e.Message, d.sensitive), mask(e.Hint, d.sensitive)
	}
	return d.errs.err()
}

func newDecoder(name string, env Env) *decoder {
	return &decoder{
		file: name, dir: filepath.Dir(name), env: env,
		positions: make(map[string]position), invalid: make(map[string]bool), raw: make(map[string]string),
	}
}

// parse parses and validates the text of a configuration file. If parse has collected errors, the caller must not use the
// result, because it is incomplete.
func (d *decoder) parse(data []byte) *Config {
	c := defaults()
	c.envStreaming = d.streamingFromEnv()
	root := d.document(data)
	if root == nil {
		return nil
	}
	d.endpoints = endpointKinds(root)
	d.structure("", root, valueOf(c))
	d.validate(c)
	return c
}

// streamingFromEnv returns the value of TELEX_STREAMING_ENABLED, or nil if the variable is unset or empty.
func (d *decoder) streamingFromEnv() *bool {
	var on bool
	switch strings.ToLower(strings.TrimSpace(d.env.Value(envStreaming))) {
	case "":
		return nil
	case "true", "1", "yes":
		on = true
	case "false", "0", "no":
	default:
		d.errs = append(d.errs, &Error{
			File: envStreaming, Message: "invalid value", Hint: "set true, 1, yes or false, 0, no",
		})
	}
	return &on
}

// document parses the text and returns the mapping at its top level, or nil if the text is empty.
func (d *decoder) document(data []byte) *yaml.Node {
	if !d.checkText(data) {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.failAt(position{1, 1}, "start from config.yaml.example", "the file is empty")
		return nil
	case err != nil:
		d.syntax(data, err)
		return nil
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		d.syntax(data, err)
		return nil
	default:
		d.fail(&second, "remove the --- line or the rest", "a second document; a file may contain only one")
	}
	root := resolve(doc.Content[0])
	switch {
	case isNull(root):
		d.failAt(position{1, 1}, "start from config.yaml.example", "the file is empty")
		return nil
	case root.Kind != yaml.MappingNode:
		d.fail(root, "start from config.yaml.example", "the file must be a mapping of keys to values, not %s", kindOf(root))
		return nil
	}
	return root
}

// endpointKinds returns the kind of each endpoint, by name. endpointKinds is called before the sections are decoded,
// because other sections refer to endpoints. endpointKinds reports no errors, because decoding the endpoints will
// report them.
func endpointKinds(root *yaml.Node) map[string]string {
	out := make(map[string]string)
	platforms := resolve(child(root, "platforms"))
	if platforms.Kind != yaml.MappingNode {
		return out
	}
	for i := 0; i+1 < len(platforms.Content); i += 2 {
		name, body := resolve(platforms.Content[i]), resolve(platforms.Content[i+1])
		if name.Kind != yaml.ScalarNode {
			continue
		}
		out[name.Value] = name.Value
		if body.Kind == yaml.MappingNode {
			if kind := resolve(child(body, "kind")).Value; kind != "" {
				out[name.Value] = kind
			}
		}
	}
	return out
}

// CheckRun reports missing settings without which the daemon can't run. Commands other than running the daemon work without
// these settings.
func (c *Config) CheckRun() error {
	if len(c.Endpoints) > 0 {
		return nil
	}
	return Errors{c.problem("platforms", "no platform to run on", "add one under platforms, such as telegram")}
}

// CheckTexts reports the unknown keys in the section texts, and the texts for which the function valid returns an error.
func (c *Config) CheckTexts(known []string, valid func(key, text string) error) error {
	var errs Errors
	for _, key := range keysOf(c.Texts) {
		if !slices.Contains(known, key) {
			errs = append(errs, c.problem(join("texts", key), fmt.Sprintf("unknown key %s in texts", quotedKey(key)), suggest(key, known)))
		} else if err := valid(key, c.Texts[key]); err != nil {
			errs = append(errs, c.problem(join("texts", key), err.Error(), ""))
		}
	}
	return errs.err()
}

// problem returns an error with the position of the key at path, or of the beginning of the file if the key is not
// set.
func (c *Config) problem(path, message, hint string) *Error {
	at, ok := c.positions[path]
	if !ok {
		at = position{1, 1}
	}
	return &Error{File: c.file, Line: at.line, Column: at.column, Message: message, Hint: hint}
}
