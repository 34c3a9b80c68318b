package record

import (
	"math"
	"strconv"
	"strings"
	"time"

	"blobio/scr/kvtree"
)

// Dataset is the record of a dataset in the metadata files.
type Dataset struct {
	ID         int    // from 1
	Name       string //
	User       string
	JobName    string
	JobID      string
	Cluster    string
	Created    time.Time // creation time, stored in microseconds; zero: unknown
	Ckpt       int       // checkpoint number, from 1; 0: the dataset is no checkpoint
	Checkpoint bool      // the dataset can be used for a restart
	Output     bool      // the dataset is output of the application
	Files      int64     // number of files of all ranks
	Size       int64     // total size of all files in bytes
	Complete   bool
	Extra      *kvtree.Tree // unknown keys; may be nil
}

var datasetKeys = map[string]bool{"ID": true, "NAME": true, "USER": true, "JOBNAME": true, "JOBID": true, "CLUSTER": true,
	"CREATED": true, "CKPT": true, "FLAG_CKPT": true, "FLAG_OUTPUT": true, "FILES": true, "SIZE": true, "COMPLETE": true}

// ParseDataset parses a record. In generation A records have no flags, and a dataset is a checkpoint if it has a checkpoint
// number. Errors name file.
func ParseDataset(t *kvtree.Tree, file string) (Dataset, error) {
	f := Fields{Tree: t, File: file, Path: "DSET"}
	d := Dataset{
		ID: f.Int("ID", 0), Name: f.Str("NAME"), User: f.Str("USER"), JobName: f.Str("JOBNAME"), JobID: f.Str("JOBID"),
		Cluster: f.Str("CLUSTER"), Ckpt: f.Int("CKPT", 0), Checkpoint: f.Bool("FLAG_CKPT"), Output: f.Bool("FLAG_OUTPUT"),
		Files: f.Int64("FILES", 0), Size: f.Int64("SIZE", 0), Complete: f.Bool("COMPLETE"), Extra: Extra(t, datasetKeys),
	}
	if t.Has("CREATED") {
		d.Created = time.UnixMicro(f.Int64("CREATED", math.MinInt64))
	}
	if !t.Has("FLAG_CKPT") {
		d.Checkpoint = d.Ckpt > 0
	}
	return d, f.Err()
}

// Tree returns the record as a tree. Its keys are in the order that SCR writes.
func (d Dataset) Tree() *kvtree.Tree {
	t := kvtree.New()
	if d.Extra != nil {
		t.Merge(d.Extra)
	}
	SetBool(t, "COMPLETE", d.Complete)
	t.Value("SIZE").SetInt64(d.Size)
	t.Value("FILES").SetInt64(d.Files)
	if d.Ckpt > 0 {
		t.Value("CKPT").SetInt(d.Ckpt)
	}
	setText(t, "CLUSTER", d.Cluster)
	setText(t, "JOBID", d.JobID)
	setText(t, "JOBNAME", d.JobName)
	setText(t, "USER", d.User)
	if !d.Created.IsZero() {
		t.Value("CREATED").SetInt64(d.Created.UnixMicro())
	}
	SetBool(t, "FLAG_OUTPUT", d.Output)
	SetBool(t, "FLAG_CKPT", d.Checkpoint)
	t.Value("NAME").SetStr(d.Name)
	t.Value("ID").SetInt(d.ID)
	return t
}

// The names of dataset folders and the default names of datasets begin with datasetPrefix.
const datasetPrefix = "scr.dataset."

// DefaultName returns the name of a dataset to which the application gave no name.
func DefaultName(id int) string { return datasetPrefix + strconv.Itoa(id) }

// DatasetID returns the number in a name of the form that DefaultName returns.
func DatasetID(name string) (int, bool) {
	text, ok := strings.CutPrefix(name, datasetPrefix)
	if !ok {
		return 0, false
	}
	id, ok := Number(text)
	return id, ok && id > 0
}

// Number parses a number in canonical decimal form, for example of a rank or a dataset.
func Number(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}
