package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store is the section store, which configures where telex stores its data.
type Store struct {
	DSN DSN `yaml:"dsn"`
}

// SQLite is the DSN for an SQLite file in the state directory.
const SQLite = "sqlite"

// DSN identifies a database, which is either SQLite, or a PostgreSQL database with its URL, which may contain a password.
type DSN struct{ Secret }

func newDSN(text string) DSN { return DSN{NewSecret(text)} }

// IsSQLite reports whether the store is an SQLite file in the state directory.
func (d DSN) IsSQLite() bool { return d.Reveal() == SQLite }

// masked returns the DSN in a form that may be shown: without the password and without all parameters, because one of
// them may be a password.
func (d DSN) masked() string {
	if d.IsSQLite() {
		return SQLite
	}
	u, _, err := d.parse()
	if err != nil {
		return redacted
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

// parse parses the URL of a database and returns its hosts. parse splits the list of hosts itself, because net/url accepts only
// one host. The error that parse returns may contain the password.
func (d DSN) parse() (u *url.URL, hosts []string, err error) {
	scheme, rest, _ := strings.Cut(d.Reveal(), "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	user := strings.LastIndex(rest[:end], "@") + 1
	all := rest[user:end]
	for host := range strings.SplitSeq(all, ",") {
		if u, err = url.Parse(scheme + "://" + rest[:user] + host + rest[end:]); err != nil {
			return nil, nil, err
		}
		if h := u.Hostname(); h != "" {
			hosts = append(hosts, h)
		}
	}
	if u.Host != "" {
		u.Host = all
	}
	return u, hosts, nil
}

const storeDSN = "store.dsn"

// validateStore validates the DSN, and adds its password to the secrets that are masked.
func (d *decoder) validateStore(s Store) {
	if !d.isValid(storeDSN) || s.DSN.IsSQLite() {
		return
	}
	const hint = "write sqlite, or postgres://USER:PASSWORD@HOST:5432/DATABASE with special characters of the password percent-encoded"
	u, hosts, err := s.DSN.parse()
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || len(hosts) == 0 && !u.Query().Has("host") || manyAts(s.DSN.Reveal()) {
		d.failAt(d.at(storeDSN), hint, "invalid URL of a database in %s", storeDSN)
		return
	}
	switch reason, ok := driverAccepts(s.DSN.Reveal()); {
	case !ok && reason == "":
		d.failAt(d.at(storeDSN), hint, "invalid URL of a database in %s", storeDSN)
		return
	case !ok:
		d.failAt(d.at(storeDSN), "correct its parameters", "invalid URL of a database in %s: %s", storeDSN, reason)
		return
	case !u.Query().Has("sslmode") && slices.ContainsFunc(hosts, func(h string) bool { return !isLoopback(h) }):
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

// driverAccepts reports whether the database driver can parse a URL. If the driver can't parse the URL, reason is the driver's
// error without the URL. If the error might contain a part of the password, reason is empty.
func driverAccepts(dsn string) (reason string, ok bool) {
	_, err := pgxpool.ParseConfig(dsn)
	if err == nil {
		return "", true
	}
	e, known := errors.AsType[*pgconn.ParseConfigError](err)
	if !known {
		return "", false
	}
	bare := *e
	bare.ConnString = ""
	reason = strings.TrimPrefix(strings.Join(strings.Fields(bare.Error()), " "), "cannot parse ``: ")
	if strings.HasPrefix(reason, "failed to parse") { // a reason with this beginning quotes a part of the URL
		return "", false
	}
	return reason, false
}

// manyAts reports whether a URL contains more than one @ before its path. net/url assumes that the password ends at the last @,
// but libpq and the driver assume that it ends at the first @. So if a password contains an @, the driver would show the end of
// the password in errors, as a part of the host.
func manyAts(dsn string) bool {
	_, authority, _ := strings.Cut(dsn, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	return strings.Count(authority, "@") > 1
}

// LoadStore returns the section store of the file that [Find] finds. LoadStore ignores errors in other sections,
// because only the daemon may be able to read the secrets there. If there is no configuration file, LoadStore returns
// the default. LoadStore also returns the default if this user may not read the file, unless $TELEX_CONFIG names the
// file.
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
