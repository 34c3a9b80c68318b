package cello

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
)

// VerifyOptions are the options of Verify. A nil pointer means the defaults.
type VerifyOptions struct {
	// StructureOnly skips the data. Verify then checks neither their checksums nor their values.
	StructureOnly bool
	// ForRestart makes an error of every finding that prevents a restart of Enzo-E or gives it wrong data, even if the checkpoint
	// is sound. Without ForRestart such findings are notes.
	ForRestart bool
	// EnzoFloat is the type of enzo_float in the program that is to restart. It is used only with ForRestart. Default (0): the
	// width of the attributes.
	EnzoFloat amr.Type
	// MaxLevel is the finest level of the run that is to restart. It is used only with ForRestart. Default (nil): the attribute
	// max_level.
	MaxLevel *int
	// Progress receives the number of bytes read so far. Several goroutines call it, and often.
	Progress func(done, total int64)
	OpenOptions
}

// Verify finds all faults of a checkpoint: in files, lists, groups, attributes, datasets, the tree and the checksums. It also
// finds implausible values. After a finding, Verify continues as far as the checkpoint can be read. It also finds faults that
// Enzo-E does not detect and that make it hang, crash or run wrong; Finding.Effect describes the effect. With
// VerifyOptions.ForRestart it also checks whether Enzo-E can restart from a sound checkpoint.
func Verify(ctx context.Context, dir string, o *VerifyOptions) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		if o == nil {
			o = &VerifyOptions{}
		}
		v := &verifier{s: newScanner(dir, &o.OpenOptions), o: o, yield: yield}
		v.s.deep = true
		v.run(ctx)
		if err := v.s.pool.Close(); err != nil {
			v.add(warning, spot{}, err, "", "")
		}
	}
}

type verifier struct {
	s      *scanner
	o      *VerifyOptions
	k      *Checkpoint // incomplete if the checkpoint is damaged
	yield  func(Finding) bool
	stop   bool
	done   atomic.Int64 // bytes read so far; total is their final number
	total  int64
	survey *survey
	// partial: some lists were unreadable, so the set of blocks is unknown.
	partial bool
	unfit   int // number of findings that concern only a restart, while ForRestart is false
}

func (v *verifier) tell(f Finding) {
	if f.Severity >= Error && f.Err != nil {
		f.Severity = fault.Of(Error, "", f.Err).Severity // unsupported content is not an error, because it may be sound
	}
	if !v.stop && !v.yield(f) {
		v.stop = true
	}
}

func (v *verifier) add(s fault.Severity, at spot, err error, effect, format string, args ...any) {
	v.tell(finding(s, at, err, effect, format, args...))
}

// fit handles a finding that concerns only a restart of Enzo-E: without ForRestart it only counts the finding.
func (v *verifier) fit(f Finding) {
	if v.o.ForRestart {
		v.tell(f)
		return
	}
	v.unfit++
}

func (v *verifier) run(ctx context.Context) {
	s := v.s
	fatal := func(file string, err error, effect string) {
		f := fault.Of(Error, file, err)
		f.Effect = effect
		if file != "" {
			f.File = file // path relative to the directory
		}
		v.tell(f)
	}
	err := s.fileList()
	if err == nil {
		err = s.lists(ctx, nil)
	}
	if err != nil {
		effect, file := aborts, cellodir.FileList
		if errors.Is(err, ErrNotCommitted) {
			effect, file = "ignores the file and reads the incomplete checkpoint", cellodir.Lock
		}
		fatal(file, err, effect)
		return
	}
	v.strays()
	s.loadManifest()
	if err := s.headers(ctx, nil); err != nil {
		fatal("", err, "")
		return
	}
	for _, f := range s.files {
		for _, d := range f.finds {
			v.tell(d)
		}
	}
	k := &Checkpoint{openFiles: newOpenFiles(s)}
	v.k = k
	if k.man, err = s.manifest(); err != nil {
		fatal(cellodir.Manifest, err, "ignores the file")
	} else if k.man == nil {
		v.add(note, spot{}, nil, "", "manifest is missing, so data cannot be verified")
	}
	if err := s.describe(k); err != nil {
		fatal("", err, "")
		return
	}
	if k.man != nil {
		s.spans(k.man)
		if k.man.Unverified {
			v.add(warning, spot{file: cellodir.Manifest, field: "unverified"}, nil, "does not know", "checkpoint was made from unverified data, so the checksums may cover damaged bytes")
		}
	}
	v.survey = newSurvey(&k.meta)
	v.roots()
	v.blocks()
	v.fields()
	if v.stop || ctx.Err() != nil {
		return
	}
	v.attributes(ctx)
	v.total = v.bytes()
	if k.man != nil && !v.stop {
		v.heads(ctx)
	}
	if !v.o.StructureOnly && !v.stop {
		v.data(ctx)
	}
	for _, f := range v.survey.findings() {
		v.tell(f)
	}
	if v.unfit > 0 {
		v.add(note, spot{}, nil, "", "Enzo-E cannot restart correctly from this checkpoint; --for-enzo-e lists the reasons")
	}
	if err := ctx.Err(); err != nil {
		fatal("", err, "")
	}
}

// strays adds a note for each file that is in no list.
func (v *verifier) strays() {
	known := map[string]bool{cellodir.FileList: true, cellodir.Manifest: true}
	for _, f := range v.s.files {
		known[f.name+cellodir.ListSuffix], known[f.name+cellodir.DataSuffix] = true, true
	}
	l, err := v.s.fs.ReadDir(v.s.dir)
	if err != nil {
		v.add(warning, spot{}, err, "", "")
		return
	}
	var other []string
	for _, e := range l {
		if n := e.Name(); !known[n] && (strings.HasSuffix(n, cellodir.ListSuffix) || strings.HasSuffix(n, cellodir.DataSuffix)) {
			other = append(other, n)
		}
	}
	if len(other) > 0 {
		v.add(warning, spot{}, nil, "ignores them", "%d files are not listed in %s: %s", len(other), cellodir.FileList, some(other))
	}
}

// roots compares the attributes of "/" between files.
func (v *verifier) roots() {
	var first *scannedFile
	for _, f := range v.s.files {
		if !f.root.ok {
			continue
		}
		if first == nil {
			first = f
			continue
		}
		a, b := f.root, first.root
		a.extras, b.extras = nil, nil
		if fmt.Sprintf("%v", a) != fmt.Sprintf("%v", b) {
			v.add(warning, spot{file: f.name + cellodir.DataSuffix, field: "/"}, ErrCorrupt, "takes the values of the first file", "attributes %+v, but %+v in %s", a, b, first.name)
		}
	}
}

func (v *verifier) fields() {
	k := v.k
	enzo := v.o.EnzoFloat
	if enzo == 0 {
		enzo = k.enzo
	}
	if enzo != k.enzo {
		v.fit(finding(Error, spot{field: "enzo_dt"}, ErrUnfit, runsWrong, "%v, the program has %v", k.enzo, enzo))
	}
	for _, d := range k.Unfit() {
		if d.Err == ErrScrambled {
			v.tell(d)
		} else if !k.Dump() {
			v.fit(d)
		}
	}
	for i := range k.meta.Fields {
		f := &k.meta.Fields[i]
		name := fieldPrefix + f.Name
		switch {
		case f.Type.Float() && f.Type != enzo:
			v.fit(finding(Error, spot{field: name}, ErrUnfit, runsWrong, "%v, but enzo_float is %v", f.Type, enzo))
		case !f.Type.Float():
			v.fit(finding(warning, spot{field: name}, nil, "has fields of floating-point types only", "%v", f.Type))
		}
	}
	for i := range k.meta.Particles {
		p := &k.meta.Particles[i]
		for j := range p.Attrs {
			if p.Attrs[j].Type == amr.Int16 {
				v.fit(finding(Error, spot{field: particleName(p, &p.Attrs[j])}, ErrUnfit, aborts, "type int16, which Enzo-E writes but cannot read"))
			}
		}
	}
}
