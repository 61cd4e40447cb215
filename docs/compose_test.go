package docs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// composeFile contains the keys of the Compose specification (https://docs.docker.com/reference/compose-file/) that telex's
// Compose files use. The test fails if a file contains any other key, so it finds misspelt keys without Docker.
type composeFile struct {
	Telex    composeService `yaml:"x-telex"` // settings that several services share
	Services map[string]composeService
	Secrets  map[string]struct{ File string }
	Volumes  map[string]*struct{}
}

type composeService struct {
	Image           string
	Build           struct{ Context, Dockerfile string }
	Hostname        string
	Restart         string
	ReadOnly        bool          `yaml:"read_only"`
	CapDrop         []string      `yaml:"cap_drop"`
	SecurityOpt     []string      `yaml:"security_opt"`
	StopGracePeriod time.Duration `yaml:"stop_grace_period"`
	ShmSize         string        `yaml:"shm_size"`
	DependsOn       map[string]struct {
		Condition string
	} `yaml:"depends_on"`
	Environment map[string]string
	Secrets     []string
	Volumes     []string
	Tmpfs       []string
	Healthcheck struct {
		Test          []string
		Interval      time.Duration
		Timeout       time.Duration
		Retries       int
		StartPeriod   time.Duration `yaml:"start_period"`
		StartInterval time.Duration `yaml:"start_interval"`
	}
}

func composeOf(t *testing.T, name string) (c composeFile) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(page(t, filepath.Join("..", "deploy", name))))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// TestCompose finds errors in the Compose files without Docker, for example a volume that is not declared. The test also checks
// that Docker gives each daemon enough time to stop.
func TestCompose(t *testing.T) {
	t.Parallel()
	var daemon struct {
		Grace time.Duration `yaml:"shutdown_grace"`
	}
	if err := yaml.Unmarshal([]byte(page(t, "../config.yaml.example")), &daemon); err != nil || daemon.Grace == 0 {
		t.Fatalf("got a grace of %v, %v", daemon.Grace, err)
	}
	for name, daemons := range map[string]int{"compose.yaml": 3, "compose.sqlite.yaml": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := composeOf(t, name)
			var hosts []string
			for service, s := range c.Services {
				checkComposeService(t, c, service, s)
				if !strings.HasPrefix(service, "telex") {
					continue
				}
				hosts = append(hosts, s.Hostname)
				if _, err := os.Stat(filepath.Join("..", "deploy", s.Build.Context, s.Build.Dockerfile)); err != nil {
					t.Error(err)
				}
				if s.StopGracePeriod < daemon.Grace+10*time.Second {
					t.Errorf("%s is killed after %v, but may take %v to stop, and the time for its last edits", service, s.StopGracePeriod, daemon.Grace)
				}
				if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) {
					t.Errorf("%s can do more than it needs: %+v", service, s)
				}
			}
			slices.Sort(hosts)
			if len(hosts) != daemons || len(slices.Compact(hosts)) != daemons {
				t.Errorf("got daemons on the hosts %q, want %d different ones", hosts, daemons)
			}
		})
	}
}

func checkComposeService(t *testing.T, c composeFile, service string, s composeService) {
	t.Helper()
	if s.Image == "" && s.Build.Context == "" {
		t.Errorf("%s has no image", service)
	}
	for other, on := range s.DependsOn {
		if on.Condition != "service_healthy" || len(c.Services[other].Healthcheck.Test) == 0 {
			t.Errorf("%s waits for %s (%q), which has no health check", service, other, on.Condition)
		}
	}
	for _, v := range s.Volumes {
		from, _, _ := strings.Cut(v, ":")
		if _, ok := c.Volumes[from]; !ok && !strings.HasPrefix(from, "./") {
			t.Errorf("%s has the volume %s, which is not declared", service, from)
		}
	}
	for _, secret := range s.Secrets {
		if c.Secrets[secret].File == "" {
			t.Errorf("%s has the secret %s, which is not declared", service, secret)
		}
	}
	for name, value := range s.Environment {
		secret, isFile := strings.CutPrefix(value, "/run/secrets/")
		if strings.Contains(name, "PASSWORD") && (!isFile || !slices.Contains(s.Secrets, secret)) {
			t.Errorf("%s has %s in its environment, where everybody can read it", service, name)
		}
	}
	if h := s.Healthcheck; len(h.Test) > 0 && (h.Test[0] != "CMD" || h.StartInterval > h.StartPeriod || h.Retries == 0) {
		t.Errorf("%s has the health check %+v", service, h)
	}
}
