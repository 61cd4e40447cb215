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

// Store configures where conversations are stored.
type Store struct {
	DSN DSN `yaml:"dsn"`
}

// SQLite is the DSN that stands for a file in the state directory.
const SQLite = "sqlite"

// DSN identifies a database: SQLite, or the URL of a PostgreSQL database, which may contain a password.
type DSN struct{ Secret }

func newDSN(text string) DSN { return DSN{NewSecret(text)} }

// IsSQLite reports whether the store is a file in the state directory.
func (d DSN) IsSQLite() bool { return d.Reveal() == SQLite }

// masked returns the DSN for display, without the password and without parameters, one of which may contain a
// password.
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

// parse parses the URL of a database and lists its hosts. There may be several hosts. net/url understands only one,
// and no IPv6 address among several. The error of parse may show the password.
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

// validateStore validates a DSN, and makes sure that its password is masked everywhere.
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

// driverAccepts reports whether the database's driver can parse a URL. reason says why not, without the URL and
// without a password. If the driver's text might contain a part of the password, reason is empty.
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
	if strings.HasPrefix(reason, "failed to parse") { // the text that it quotes may be a part of the password
		return "", false
	}
	return reason, false
}

// manyAts reports whether a URL has more than one @ before its path. For net/url, the password ends at the last @;
// for libpq and the driver, at the first one. They would take the rest of the password for the host and show it in
// errors.
func manyAts(dsn string) bool {
	_, authority, _ := strings.Cut(dsn, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	return strings.Count(authority, "@") > 1
}

// LoadStore returns the section store of the file that [Find] finds. It ignores errors in other sections, because
// only the daemon may be able to read their secrets. If there is no configuration, it returns the default. It also
// does so if a file at a default location can't be read because it belongs to another user.
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
