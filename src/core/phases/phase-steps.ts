import type {
  AbsentRecords,
  ConfirmDeletesInput,
  ConfirmedDeletes,
  ExtractInput,
  ExtractResult,
  FindAbsentInput,
  MergedParts,
  MergePartsInput,
  MergePlanned,
  PlanMergeInput,
} from '../contract/index.js';

/**
 * The steps of the phases between the preparation of a run and its publication. The activity of a whole run calls them in
 * memory; for a run in the lake, the workflow requests an activity for each of them.
 */
export interface Steps {
  /** @param summary what it does, for people */
  extractPages(input: ExtractInput, summary: string): Promise<ExtractResult>;
  findAbsent(input: FindAbsentInput): Promise<AbsentRecords>;
  confirmDeletes(input: ConfirmDeletesInput): Promise<ConfirmedDeletes>;
  /** @param summary as in `extractPages` */
  planMerge(input: PlanMergeInput, summary: string): Promise<MergePlanned>;
  /** @param summary as in `extractPages` */
  mergeParts(input: MergePartsInput, summary: string): Promise<MergedParts>;
}
