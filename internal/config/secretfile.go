package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxSecretFile is the maximum size of a secret file in bytes. Real tokens are much smaller than maxSecretFile.
const maxSecretFile = 1 << 16

// secretFile reads the file that the key <key>_file names, and returns its text without the line break at the end. A
// relative path refers to a file in the bundle, if the configuration comes from a bundle. Without a bundle, it refers to a
// credential, if systemd passes credentials. Without both, it refers to a file beside the configuration file, or in the folder
// secrets beside it.
func (d *decoder) secretFile(path string, n *yaml.Node) (string, bool) {
	name, ok := d.text(path, n)
	if !ok {
		return "", false
	}
	if name == "" {
		d.fail(n, "name a file or remove the line", "empty path in %s", displayPath(path))
		return "", false
	}
	if d.bundled != nil && !filepath.IsAbs(name) {
		return d.bundledSecret(path, n, name)
	}
	places, where := d.secretPlaces(name)
	text, mode, err := readFirstExisting(places)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err // leave out the path: the error message contains it, unless the path may be a secret
		}
		d.fail(n, where, "read %s of %s: %v", quotedPath(n.Value), displayPath(path), err)
		return "", false
	}
	if mode.Perm()&0o004 != 0 {
		d.warn(n, "everybody on this machine can read the secret file of %s; make it 0600", displayPath(path))
	}
	return strings.TrimRight(text, "\r\n"), true
}

// bundledSecret returns the text of a secret file in a bundle. The file's name may begin with secrets/, as in a path,
// or with secrets_, as in the id of a systemd credential.
func (d *decoder) bundledSecret(path string, n *yaml.Node, name string) (string, bool) {
	for _, name := range []string{name, strings.TrimPrefix(name, SecretsDir+"_"), strings.TrimPrefix(name, SecretsDir+"/")} {
		if text, ok := d.bundled[name]; ok {
			return strings.TrimRight(string(text), "\r\n"), true
		}
	}
	d.fail(n, "a relative path is looked up in the folder "+SecretsDir+" beside the configuration file", "read %s of %s: no such file", quotedPath(n.Value), displayPath(path))
	return "", false
}

// secretPlaces returns the possible paths of a secret file, in order of precedence, and describes them for error
// messages. The systemd unit passes the files in /etc/telex/secrets to the daemon as credentials with the ids
// secrets_<file>. A command that an administrator runs gets no credentials, so it reads these files beside the
// configuration file. https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#LoadCredential=ID:PATH
func (d *decoder) secretPlaces(name string) (paths []string, where string) {
	if filepath.IsAbs(name) {
		return []string{name}, ""
	}
	if dir := d.env.Value(envCredentials); dir != "" {
		return []string{filepath.Join(dir, name), filepath.Join(dir, SecretsDir+"_"+name)}, "a relative path is looked up in $" + envCredentials
	}
	return []string{filepath.Join(d.dir, name), filepath.Join(d.dir, SecretsDir, name)},
		"a relative path is looked up beside the configuration file, and in the folder " + SecretsDir + " there"
}

// SecretsDir is the name of the folder beside the configuration file that contains secret files. The systemd unit
// loads this folder as credentials, whose ids begin with the folder's name.
const SecretsDir = "secrets"

// readFirstExisting reads the first of the files that exists.
func readFirstExisting(paths []string) (text string, mode fs.FileMode, err error) {
	for _, path := range paths {
		if text, mode, err = readRegularFile(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return text, mode, err
}

// readRegularFile reads a regular file of limited size. readRegularFile refuses other kinds of files, because reading
// a pipe or a device could block the program forever.
func readRegularFile(path string) (text string, mode fs.FileMode, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", 0, err
	}
	if len(data) > maxSecretFile {
		return "", 0, fmt.Errorf("longer than %d bytes", maxSecretFile)
	}
	return string(data), info.Mode(), nil
}

// quotedPath returns a path in quotes, for an error message. If the path looks like a secret that was pasted by mistake,
// quotedPath hides it.
func quotedPath(raw string) string {
	if strings.ContainsAny(raw, `/.\`) || len(raw) <= 24 && !strings.Contains(raw, ":") {
		return fmt.Sprintf("%q", raw)
	}
	return "the file"
}
