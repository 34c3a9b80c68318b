package dataset

// What the tests see beside the face.
type Checked = checked
type Extent = extent
type Recovered = recovered
