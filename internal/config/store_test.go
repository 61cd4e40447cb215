package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestStoreDSN(t *testing.T) {
	t.Parallel()
	const invalid = "invalid URL of a database in store.dsn; write sqlite, or postgres://USER:PASSWORD@HOST:5432/DATABASE " +
		"with special characters of the password percent-encoded"
	for _, tt := range []struct{ dsn, shown, wrong, warning string }{
		{dsn: "sqlite", shown: "sqlite"},
		{dsn: "postgres://telex:hidden-pass@db.example.org/telex?sslmode=verify-full", shown: "postgres://telex@db.example.org/telex"},
		{dsn: "postgresql://telex:hidden-pass@127.0.0.1:5433/telex", shown: "postgresql://telex@127.0.0.1:5433/telex"},
		{dsn: "postgres://telex@db/telex?sslmode=require&password=hidden-pass", shown: "postgres://telex@db/telex"},
		{dsn: "postgres:///telex?host=/run/postgresql&user=u", shown: "postgres:///telex"},
		{
			dsn: "postgres://telex:hidden-pass@db/telex", shown: "postgres://telex@db/telex",
			warning: "store.dsn does not say how the connection is encrypted; add sslmode=verify-full, or sslmode=disable in a trusted network",
		},
		{
			dsn: "postgres://u:hidden-pass@[::1]:5432,host/db?sslmode=verify-full", shown: "postgres://u@[::1]:5432,host/db",
		},
		{dsn: "postgres://u:hidden-pass@localhost,[::1]:5433/db", shown: "postgres://u@localhost,[::1]:5433/db"},
		{
			dsn: "postgres://u:hidden-pass@[::1],db:5433/db", shown: "postgres://u@[::1],db:5433/db",
			warning: "store.dsn does not say how the connection is encrypted; add sslmode=verify-full, or sslmode=disable in a trusted network",
		},
		{dsn: "postgres://u:hidden-pass@h,i:port/d", wrong: invalid},
		{dsn: "postgres://u:hidden-pass@h/d?sslmode=maybe", wrong: "invalid URL of a database in store.dsn: failed to configure TLS (sslmode is invalid); correct its parameters"},
		{
			dsn:   "postgres://u:hidden-pass@h/d?sslmode=disable&connect_timeout=soon",
			wrong: "invalid URL of a database in store.dsn: invalid connect_timeout (strconv.ParseInt: parsing \"soon\": invalid syntax); correct its parameters",
		},
		{
			dsn:   "postgres://u:hidden-pass@h/d?sslmode=disable&pool_max_conns=many",
			wrong: "invalid URL of a database in store.dsn: cannot parse pool_max_conns (strconv.ParseInt: parsing \"many\": invalid syntax); correct its parameters",
		},
		{dsn: "mysql://u:hidden-pass@h/d", wrong: invalid},
		{dsn: "/var/lib/telex.db", wrong: invalid},
		{dsn: "postgres://u:hidden-pass", wrong: invalid},
		{dsn: "postgres://u:hidden-pass@h:port/d", wrong: invalid},
		{dsn: "postgres://u:hidden%pass@h/d", wrong: invalid},
		{dsn: "postgres://u:hidden@pass@h/d", wrong: invalid}, // the driver would show the text after the first @ as the host
		{dsn: "host=h password=hidden-pass", wrong: invalid},
	} {
		c, err := Parse("config.yaml", []byte(base+"store: {dsn: \""+tt.dsn+"\"}\n"), nil)
		if tt.wrong != "" {
			checkErrors(t, err, []string{"4:9: " + tt.wrong})
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.dsn, err)
			continue
		}
		if c.Store.DSN.Reveal() != tt.dsn {
			t.Errorf("got %q, want %q", c.Store.DSN.Reveal(), tt.dsn)
		}
		text := show(t, c)
		if want := "  dsn: " + tt.shown + "\n"; !strings.Contains(text, want) || strings.Contains(text, "hidden") {
			t.Errorf("%s is shown as %s, want %q", tt.dsn, text[strings.Index(text, "store:"):], want)
		}
		if got := strings.Join(c.Warnings, "; "); !strings.Contains(got, tt.warning) || (tt.warning == "") != (got == "") {
			t.Errorf("%s: warnings %q, want %q", tt.dsn, got, tt.warning)
		}
	}
}

// The password in store.dsn must be masked wherever it appears in the configuration.
func TestStorePasswordIsMasked(t *testing.T) {
	t.Parallel()
	c := mustParse(t, base+"store: {dsn: \"postgres://telex:hidden-pass@db/telex?sslmode=require\"}\ntexts: {hello: it is hidden-pass}\n", nil)
	if text := show(t, c); strings.Contains(text, "hidden-pass") {
		t.Errorf("the password is shown:\n%s", text)
	}
}

// A command must be able to find out where the store is, even if it can't read the secrets in other sections of the
// configuration.
func TestLoadStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	env := testEnv(map[string]string{envConfig: path})
	write(t, path, "models: [{api_key: \"${NOT_SET}\"}]\nunknown: x\nstore: {dsn_file: dsn}\n", 0o600)
	write(t, filepath.Join(dir, "dsn"), "postgres://u:hidden-pass@h/d?sslmode=require\n", 0o600)
	s, err := LoadStore(env)
	if err != nil || s.DSN.Reveal() != "postgres://u:hidden-pass@h/d?sslmode=require" {
		t.Errorf("got %q, %v", s.DSN.Reveal(), err)
	}
	write(t, path, "models: []\n", 0o600)
	if s, err := LoadStore(env); err != nil || !s.DSN.IsSQLite() {
		t.Errorf("without the section: got %v, %v, want sqlite", s, err)
	}
	write(t, path, "store: {dns: sqlite}\n", 0o600)
	if _, err := LoadStore(env); err == nil || !strings.Contains(err.Error(), `unknown key "dns" in store`) {
		t.Errorf("a wrong section: got %v", err)
	}
	if _, err := LoadStore(testEnv(map[string]string{envConfig: filepath.Join(dir, "missing.yaml")})); err == nil {
		t.Error("a named file that is missing: got no error")
	}
}

// A reload can't change the store. The error must say that a restart is needed, and must not contain the password.
func TestStoreNeedsARestart(t *testing.T) {
	t.Parallel()
	const name = "postgres://u:hidden-pass@h/d?sslmode=require"
	before, after := mustParse(t, base, nil), mustParse(t, base+"store: {dsn: \""+name+"\"}\n", nil)
	if got := Changes(before, after); len(got) != 1 || got[0] != "store.dsn changed" {
		t.Errorf("changes: got %q", got)
	}
	checkErrors(t, after.CheckReload(before), []string{"4:9: store.dsn can't change while the daemon runs; restart the daemon, which loses nothing"})
}
