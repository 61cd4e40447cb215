package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"telex/internal/config"
)

// SetupOptions contains the options of Setup. Setup asks for each value that neither the options nor the environment contain.
// If Silent is set, Setup asks nothing and uses the defaults of missing values. If a required value has no default, Setup then
// fails.
type SetupOptions struct {
	File      string // the configuration file to create; empty: config.yaml, or /etc/telex/config.yaml for the service
	Platforms []string
	Set       map[string]string // values of other platform keys, by key, such as "whatsapp.listen"
	BaseURL   string            // base URL of the model's API
	Model     string
	Allow     []string // people whom the configuration allows to talk to the bot
	Service   bool     // install and start the service
	Silent    bool     // ask no questions
	// If InEnvironment is set, secrets stay in environment variables, to which the configuration refers. Otherwise
	// Setup writes the secrets to files.
	InEnvironment bool

	In io.Reader // where the person's answers come from, one on each line
	// ReadSecret reads an answer without showing it on the terminal. If ReadSecret is nil, Setup reads secrets from
	// In.
	ReadSecret func() (string, error)
	Transport  http.RoundTripper // used for every check; nil: the default transport
}

// ErrNotSetUp means that Setup has written no configuration. Before Setup returns ErrNotSetUp, it tells the person the
// reason.
var ErrNotSetUp = errors.New("nothing was set up")

const (
	defaultBaseURL = "https://api.openai.com/v1"
	defaultModel   = "gpt-5-mini"
	modelKeyEnv    = "OPENAI_API_KEY"
	maxTries       = 3 // how often setup asks a question whose answers turn out to be wrong, before it gives up
)

// setup asks the questions and writes the files.
type setup struct {
	o     SetupOptions
	env   config.Env
	out   Output
	in    *bufio.Reader
	draft draft
	codes bool // people who are not in Allow get a pairing code
}

// Setup asks for the platforms and the model, and checks the answers with the platforms' and the model's servers. If the
// servers accept the answers, Setup writes a configuration file, and secret files that only their owner can read. If a file
// already exists, Setup does not overwrite it. If Service is set, Setup also installs the service.
func Setup(ctx context.Context, env config.Env, out Output, o SetupOptions) error {
	s := &setup{o: o, env: env, out: out, in: bufio.NewReader(o.In)}
	if s.o.File == "" {
		if s.o.File = "config.yaml"; o.Service {
			s.o.File = serviceConfig
		}
	}
	if o.Service {
		if err := s.canServe(); err != nil {
			return err
		}
		if exists(s.o.File) && !s.answered() {
			return s.installConfigured(ctx)
		}
	}
	if exists(s.o.File) {
		return fmt.Errorf("%s already exists, and setup overwrites nothing: move it away, or name another file with --output", s.o.File)
	}
	for _, step := range []func(context.Context) error{s.platforms, s.model, s.people, s.write} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if o.Service {
		return s.install(ctx)
	}
	return s.next()
}

// answered reports whether the command line contains answers to Setup's questions. If the command line contains answers, the
// person wants a new configuration.
func (s *setup) answered() bool {
	return len(s.o.Platforms)+len(s.o.Set)+len(s.o.Allow) > 0 || s.o.BaseURL+s.o.Model != "" || s.o.InEnvironment
}

// platforms asks which platforms the bot uses, and then for the settings of each platform.
func (s *setup) platforms(ctx context.Context) error {
	names := SetupPlatforms()
	for i, kind := range names {
		names[i] = fmt.Sprintf("%d %s", i+1, kind)
	}
	answer, err := s.ask(ctx, question{
		text:      "Which platforms? " + strings.Join(names, ", ") + "; numbers or names, separated by commas",
		flagValue: strings.Join(s.o.Platforms, ","), defaultAnswer: config.KindTelegram,
	})
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(answer, ",") {
		name = strings.TrimSpace(name)
		if i, err := strconv.Atoi(name); err == nil && i >= 1 && i <= len(names) {
			name = setupKinds()[i-1].kind
		}
		kind, ok := setupKindOf(name)
		if !ok {
			return fmt.Errorf("%q is not a platform; the platforms are %s", name, strings.Join(names, ", "))
		}
		if slices.ContainsFunc(s.draft.platforms, func(p draftPlatform) bool { return p.kind == name }) {
			continue
		}
		if err := s.platform(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// platform asks for the settings of one platform again and again until the platform's server accepts them.
func (s *setup) platform(ctx context.Context, kind setupKind) error {
	if !s.o.Silent {
		fmt.Fprintf(s.out.Remarks, "\n%s: %s\nStep by step: %s\n", network(kind.kind), kind.where, documented(kind.page))
	}
	for try := 1; ; try++ {
		p := draftPlatform{kind: kind.kind}
		for _, k := range kind.keys {
			value, err := s.value(ctx, kind.kind, k, try)
			if err != nil {
				return err
			}
			p.set(draftValue{k.key, value, k.secret, s.variable(k.secret, k.env)})
		}
		for key, value := range s.o.Set {
			section, name, _ := strings.Cut(key, ".")
			if section == kind.kind && !slices.ContainsFunc(kind.keys, func(k setupKey) bool { return k.key == name }) {
				p.set(draftValue{key: name, value: value})
			}
		}
		found, err := s.check(ctx, draft{baseURL: defaultBaseURL, modelKey: "not asked for yet", model: defaultModel, platforms: []draftPlatform{p}}, func(ctx context.Context, d *doctor, c *config.Config) []finding {
			return d.endpoint(ctx, c, c.Endpoints[0])
		})
		if err != nil {
			return err
		}
		if found {
			s.draft.platforms = append(s.draft.platforms, p)
			return nil
		}
		if !s.again(ctx, try) {
			return ErrNotSetUp
		}
	}
}

// value asks for the value of one key of a platform.
func (s *setup) value(ctx context.Context, kind string, k setupKey, try int) (string, error) {
	key := kind + "." + k.key
	q := question{text: k.ask, flagValue: s.o.Set[key], defaultAnswer: k.defaultValue, secret: k.secret, how: "set " + k.env + ", or add --set " + key + "=…"}
	switch {
	case k.secret && s.o.InEnvironment:
		return s.fromEnvironment(k.env)
	case q.flagValue == "" && try == 1:
		q.flagValue = s.env.Value(k.env)
	}
	if k.random {
		q.defaultAnswer = randomSecret()
	}
	return s.ask(ctx, q)
}

// fromEnvironment returns the value of an environment variable that contains a secret. fromEnvironment fails if the
// variable is not set.
func (s *setup) fromEnvironment(name string) (string, error) {
	value := s.env.Value(name)
	if value == "" {
		return "", fmt.Errorf("%s is not set, and with --secrets=environment, setup takes secrets only from the environment", name)
	}
	return value, nil
}

// variable returns name, which is the name of an environment variable, if the configuration must refer to this
// variable. Otherwise the configuration contains the value or refers to a secret file, and variable returns "".
func (s *setup) variable(secret bool, name string) string {
	if secret && s.o.InEnvironment {
		return name
	}
	return ""
}

// documented returns where the person finds a page of the documentation: the path of the installed file, or else the
// path in the repository.
func documented(page string) string {
	if installed := filepath.Join(packageDocs, page); exists(installed) {
		return installed
	}
	return page
}

// model asks for the model and its API again and again until the model answers a test question.
func (s *setup) model(ctx context.Context) error {
	if !s.o.Silent {
		fmt.Fprintf(s.out.Remarks, "\nThe model: any service with an OpenAI-compatible API.\n")
	}
	for try := 1; ; try++ {
		var err error
		if s.draft.baseURL, err = s.ask(ctx, question{text: "Address of its API", flagValue: s.o.BaseURL, defaultAnswer: defaultBaseURL}); err != nil {
			return err
		}
		if s.draft.modelKey, err = s.modelKey(ctx, try); err != nil {
			return err
		}
		if s.draft.modelKey != "" {
			s.draft.modelKeyEnv = s.variable(true, modelKeyEnv)
		}
		if s.draft.model, err = s.ask(ctx, question{text: "Model", flagValue: s.o.Model, defaultAnswer: defaultModel}); err != nil {
			return err
		}
		checked := s.draft
		found, err := s.check(ctx, checked, func(ctx context.Context, d *doctor, c *config.Config) []finding { return d.model(ctx, c, c.Models[0]) })
		if err != nil || found {
			return err
		}
		if !s.again(ctx, try) {
			return ErrNotSetUp
		}
	}
}

// modelKey asks for the API key of the model. The key is optional except at OpenAI, because local servers need no key.
func (s *setup) modelKey(ctx context.Context, try int) (string, error) {
	own := s.draft.baseURL != defaultBaseURL
	if s.o.InEnvironment && !(own && s.env.Value(modelKeyEnv) == "") {
		return s.fromEnvironment(modelKeyEnv)
	}
	q := question{text: "API key", secret: true, optional: own, how: "set " + modelKeyEnv}
	if try == 1 {
		q.flagValue = s.env.Value(modelKeyEnv)
	}
	return s.ask(ctx, q)
}

// people asks who may talk to the bot.
func (s *setup) people(ctx context.Context) error {
	s.draft.allow, s.codes = s.o.Allow, len(s.o.Allow) == 0
	if len(s.o.Allow) > 0 || s.o.Silent {
		return nil
	}
	const text = "\nWho may talk to the bot without a code, such as telegram:user:1234 (several separated by commas)? With nobody, all people need a code"
	answer, err := s.ask(ctx, question{text: text, defaultAnswer: "nobody"})
	if err != nil || answer == "nobody" {
		return err
	}
	for who := range strings.SplitSeq(answer, ",") {
		s.draft.allow = append(s.draft.allow, strings.TrimSpace(who))
	}
	s.codes = false
	return nil
}

// check parses a draft as the daemon would, calls the function examine to check it, and writes the findings. check
// returns true if there are no problems.
func (s *setup) check(ctx context.Context, d draft, examine func(context.Context, *doctor, *config.Config) []finding) (well bool, err error) {
	dir, err := os.MkdirTemp("", "telex-setup-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "config.yaml")
	if err := d.write(file); err != nil {
		return false, err
	}
	c, err := config.Load(file, s.secretsOnly)
	if err != nil {
		fmt.Fprintln(s.out.Remarks, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
		return false, nil
	}
	if s.o.Transport == nil {
		s.o.Transport = http.DefaultTransport
	}
	doc := &doctor{env: s.env, skew: newSkewMeter(s.o.Transport)}
	doc.o = Options{Log: slog.New(slog.DiscardHandler), Transport: doc.skew, Env: s.env}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	found := examine(ctx, doc, c)
	well = !slices.ContainsFunc(found, func(f finding) bool { return f.State == problem })
	return well, Output{Results: s.out.Remarks}.findings(found)
}

// secretsOnly looks up an environment variable when a draft is checked. secretsOnly hides variables that only this
// process has, so that the check sees what the daemon will see.
func (s *setup) secretsOnly(name string) (string, bool) {
	if !s.o.InEnvironment || strings.HasPrefix(name, "TELEX_") && name != apiKeyEnv || name == "CREDENTIALS_DIRECTORY" {
		return "", false
	}
	return s.env(name)
}

// write writes the configuration file and the secret files.
func (s *setup) write(context.Context) error {
	if err := s.draft.write(s.o.File); err != nil {
		return err
	}
	if s.o.InEnvironment {
		return s.out.line("%s: written; the secrets stay in the environment", s.o.File)
	}
	return s.out.line("%s: written; the secrets are in %s", s.o.File, filepath.Join(filepath.Dir(s.o.File), config.SecretsDir))
}

// write writes a draft to the configuration file path, and its secrets to files in a directory beside it. Only the owner can
// read the configuration file and the secret files. write fails if the configuration file already exists.
func (d *draft) write(path string) error {
	dir := filepath.Join(filepath.Dir(path), config.SecretsDir)
	secrets := d.secrets()
	if len(secrets) > 0 {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for name, secret := range secrets {
		if err := writePrivate(filepath.Join(dir, name), secret+"\n", os.O_TRUNC); err != nil {
			return err
		}
	}
	return writePrivate(path, d.yaml(), os.O_EXCL)
}

func writePrivate(path, text string, how int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists, and setup overwrites nothing", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
}

// next tells the person what to do after setup.
func (s *setup) next() error {
	file, err := filepath.Abs(s.o.File)
	if err != nil {
		return err
	}
	where := ""
	if names := s.draft.variables(); len(names) > 0 {
		where = ", with " + strings.Join(names, " and ") + " in its environment"
	}
	if err := s.out.line("Next: telex run --config %s%s, then write to the bot.", file, where); err != nil {
		return err
	}
	if !s.codes {
		return nil
	}
	return s.out.line("The bot answers the first message with a code: telex pair approve CODE gives that person access.")
}
