package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"blobio/internal/base/vfs"
)

// DefaultSystemFile is the usual path of the system file.
const DefaultSystemFile = "/etc/scr.conf"

// Sources are the sources of settings. With the zero value, Load reads the environment of the process and the user's file, but no
// system file.
type Sources struct {
	// Environ is a list of NAME=value strings; nil means os.Environ().
	Environ []string
	// FS is the file system of the configuration files; nil means vfs.OS.
	FS vfs.FS
	// Dir is the directory that relative names refer to. It is also the prefix directory if SCR_PREFIX is not set. "" means the
	// working directory.
	Dir string
	// UserFile overrides SCR_CONF_FILE unless it is "". The file must exist.
	UserFile string
	// SystemFile is the administrator's file. The file need not exist; "" means that there is none.
	SystemFile string
}

// jobVars are the environment variables, besides SCR_*, that this package reads.
var jobVars = [...]string{"SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "USER", "LOGNAME", "USERNAME"}

// Load reads the environment and the files. In a job only one rank calls Load and sends its settings to the other ranks with
// Encode and Decode, because all ranks need equal settings.
func Load(o Sources) (*Set, error) {
	s := &Set{places: places{env: map[string]string{}, program: &file{}}, vars: map[string]string{}}
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			s.vars[k] = v
		}
	}
	look := func(name string) (string, bool) { v, ok := s.vars[name]; return v, ok }
	for k, v := range s.vars {
		if strings.HasPrefix(k, "SCR_") || slices.Contains(jobVars[:], k) {
			s.places.env[k] = expand(v, look)
		}
	}
	o.FS = vfs.OrOS(o.FS)
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	} else if o.FS == vfs.OS {
		var err error
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
	}
	s.dir = dir

	var errs []error
	read := func(name string, must bool) *file {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		f, err := readFile(o.FS, name, look)
		if err != nil && (must || !errors.Is(err, fs.ErrNotExist)) {
			errs = append(errs, err)
		}
		return f
	}
	switch conf := s.places.env["SCR_CONF_FILE"]; {
	case o.UserFile != "":
		s.places.user = read(o.UserFile, true)
	case conf != "":
		s.places.user = read(conf, true)
	default:
		prefix := s.places.env["SCR_PREFIX"]
		if prefix == "" {
			prefix = dir
		}
		s.places.user = read(filepath.Join(prefix, ".scrconf"), false)
	}
	if o.SystemFile != "" {
		s.places.system = read(o.SystemFile, false)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	s.places.restrict()
	return s, nil
}

// restrict removes settings that the user may not make. It adds notes about them, and about all other settings in the files that
// have no effect.
func (p *places) restrict() {
	no := map[string]bool{}
	for i := range params {
		no[params[i].Name] = params[i].NoUser
	}
	if e, ok := p.system.last("SCR_RESTRICTED"); ok {
		for name := range strings.SplitSeq(e.Value, ",") {
			no[strings.ToUpper(strings.TrimSpace(name))] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p.env)) {
		if no[k] {
			p.addNote(Origin{Source: Environment}, "%s is ignored, because the user may not set it", k)
			delete(p.env, k)
		}
	}
	if p.user != nil {
		p.user.remove(func(e *Entry) bool {
			if no[e.Key] {
				p.addNote(Origin{UserFile, p.user.Name, e.Line}, "%s is ignored, because the user may not set it", e.Key)
			}
			return no[e.Key]
		})
	}
	for _, k := range slices.Sorted(maps.Keys(p.env)) {
		if strings.HasPrefix(k, "SCR_") && find(k) == nil {
			p.addNote(Origin{Source: Environment}, "unknown parameter %s", k)
		}
	}
	p.noteFile(UserFile, p.user)
	p.noteFile(SystemFile, p.system)
}

func (p *places) noteFile(src Source, f *file) {
	if f == nil {
		return
	}
	for i := range f.Entries {
		e := &f.Entries[i]
		at := Origin{src, f.Name, e.Line}
		_, tree := descriptorKeys[e.Key]
		switch {
		case tree:
		case find(e.Key) == nil:
			p.addNote(at, "unknown parameter %s", e.Key)
		case e.Key == "SCR_CONF_FILE":
			p.addNote(at, "SCR_CONF_FILE has no effect in a file")
		case len(e.Children) > 0:
			p.addNote(at, "%s=%s has no effect after %s, which is not a descriptor; put the parameter on a separate line", e.Children[0].Key, e.Children[0].Value, e.Key)
		default:
			if last, _ := f.last(e.Key); last != e {
				p.addNote(at, "%s is set again in line %d", e.Key, last.Last)
			}
		}
	}
}
