package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
)

// Store configures where conversations are stored.
type Store struct {
	DSN DSN `yaml:"dsn"`
}

// SQLite is the DSN of a file in the state directory.
const SQLite = "sqlite"

// DSN identifies a database: SQLite, or the URL of a PostgreSQL database, which may contain a password.
type DSN struct{ Secret }

func newDSN(text string) DSN { return DSN{NewSecret(text)} }

// IsSQLite reports whether the store is a file in the state directory.
func (d DSN) IsSQLite() bool { return d.Reveal() == SQLite }

// masked returns the DSN for display: without the password and without parameters, one of which may be a password.
func (d DSN) masked() string {
	u, err := url.Parse(d.Reveal())
	if err != nil {
		return redacted
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

const storeDSN = "store.dsn"

// validateStore validates a DSN, and masks its password wherever it appears.
func (d *decoder) validateStore(s Store) {
	if !d.isValid(storeDSN) || s.DSN.IsSQLite() {
		return
	}
	const hint = "write sqlite, or postgres://USER:PASSWORD@HOST:5432/DATABASE with special characters of the password percent-encoded"
	u, err := url.Parse(s.DSN.Reveal()) // its error would show the password
	switch {
	case err != nil, u.Scheme != "postgres" && u.Scheme != "postgresql", u.Hostname() == "" && !u.Query().Has("host"),
		manyAts(s.DSN.Reveal()):
		d.failAt(d.at(storeDSN), hint, "invalid URL of a database in %s", storeDSN)
		return
	case !u.Query().Has("sslmode") && u.Hostname() != "" && !isLoopback(u.Hostname()):
		d.warnAt(d.at(storeDSN), "%s does not say how the connection is encrypted; add sslmode=verify-full, or sslmode=disable in a trusted network", storeDSN)
	}
	passwords := []string{u.Query().Get("password"), u.Query().Get("sslpassword")}
	if password, has := u.User.Password(); has {
		passwords = append(passwords, password)
	}
	for _, password := range passwords {
		d.sensitive = append(d.sensitive, NewSecret(password), NewSecret(url.QueryEscape(password)), NewSecret(url.PathEscape(password)))
	}
}

// manyAts reports whether more than one @ stands before the path of a URL. net/url ends the password at the last one, libpq and the
// driver at the first one: they would take the rest of the password for the host, and show it in errors.
func manyAts(dsn string) bool {
	_, authority, _ := strings.Cut(dsn, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	return strings.Count(authority, "@") > 1
}

// LoadStore returns the section store of the file that [Find] returns, even if other sections have errors, because only
// the daemon may be able to read their secrets. Without a configuration it returns the default, also if a file at a
// default location belongs to another user.
func LoadStore(env Env) (Store, error) {
	path, err := Find("", env)
	if errors.Is(err, ErrNotFound) {
		return defaults().Store, nil
	}
	if err != nil {
		return Store{}, err
	}
	data, _, err := read(path)
	if errors.Is(err, fs.ErrPermission) && env.Value(envConfig) == "" {
		return defaults().Store, nil
	}
	if err != nil {
		return Store{}, fmt.Errorf("read configuration: %w", err)
	}
	d, s := newDecoder(path, env), defaults().Store
	if root := d.document(data); root != nil {
		if section := resolve(child(root, "store")); section.Kind != 0 {
			d.structure("store", section, valueOf(&s))
			d.validateStore(s)
		}
	}
	return s, d.failure()
}
