package scrtools

// Exported for tests.
type ScrChecked = scrChecked
type ScrConfLine = scrConfLine
type ScrFlushRow = scrFlushRow
type ScrHaltDesc = scrHaltDesc
type ScrIndexRow = scrIndexRow
type ScrParam = scrParam
type ScrPlan = scrPlan
type ScrRebuilt = scrRebuilt
type ScrScanned = scrScanned

var ScrTime = scrTime
