/** A query in plain English over GitHub's document, and the names of the operations that it should find. */
export type Query = readonly [query: string, ...wanted: string[]];

/** Written before the first ranking. */
export const firstQueries: readonly Query[] = [
  ["create an issue", "issues/create"],
  ["merge a pull request", "pulls/merge"],
  ["which files changed in a pull request", "pulls/list-files"],
  ["who starred a repository", "activity/list-stargazers-for-repo"],
  ["add labels to an issue", "issues/add-labels"],
  ["rerun the failed jobs of a workflow", "actions/re-run-workflow-failed-jobs"],
  ["read a file from a repo", "repos/get-content"],
  ["invite someone to my organization", "orgs/create-invitation"],
  ["search for code", "search/code"],
  ["unread notifications", "activity/list-notifications-for-authenticated-user"],
];

/** The ranking may be adjusted to these queries. */
export const knownQueries: readonly Query[] = [
  ["star a repository", "activity/star-repo-for-authenticated-user"],
  ["who am I", "users/get-authenticated"],
  ["list my notifications", "activity/list-notifications-for-authenticated-user"],
  ["rename a branch", "repos/rename-branch"],
  ["show the commits of a pull request", "pulls/list-commits"],
  ["lock a conversation", "issues/lock"],
  ["change the description of a repository", "repos/update"],
  ["archive a repository", "repos/update"],
  ["who are the collaborators", "repos/list-collaborators"],
  ["remove a collaborator", "repos/remove-collaborator"],
  ["delete a file", "repos/delete-file"],
  ["list the members of a team", "teams/list-members-in-org", "teams/list-members-legacy"],
  ["draft a release", "repos/create-release"],
  ["send an invitation to a collaborator", "repos/add-collaborator"],
  ["disable a workflow", "actions/disable-workflow"],
  ["how many people cloned my repository", "repos/get-clones"],
  ["search for repositories", "search/repos"],
  ["set a milestone on an issue", "issues/update"],
  ["post a comment on a commit", "repos/create-commit-comment"],
  ["make a repository private", "repos/update"],
];

/**
 * Written after the first ranking, to measure how well it works for other queries. Variants of the ranking have been compared
 * on them since, so new queries are needed to measure that again.
 */
export const heldOutQueries: readonly Query[] = [
  ["close an issue", "issues/update"],
  ["delete a branch", "git/delete-ref"],
  ["add a label to an issue", "issues/add-labels"],
  ["create a pull request", "pulls/create"],
  ["unfollow someone", "users/unfollow"],
  [
    "list open issues",
    "issues/list-for-repo",
    "issues/list",
    "issues/list-for-authenticated-user",
    "search/issues-and-pull-requests",
  ],
  [
    "edit a comment",
    "issues/update-comment",
    "gists/update-comment",
    "pulls/update-review-comment",
    "repos/update-commit-comment",
  ],
  ["reopen an issue", "issues/update"],
  ["upload an SSH key", "users/create-public-ssh-key-for-authenticated-user"],
  ["list the tags of a repository", "repos/list-tags"],
  ["update a file", "repos/create-or-update-file-contents"],
  ["list open pull requests", "pulls/list"],
  ["download an artifact", "actions/download-artifact"],
  ["list workflow runs that failed", "actions/list-workflow-runs-for-repo", "actions/list-workflow-runs"],
  ["transfer a repository to another owner", "repos/transfer"],
  ["most popular pages of a repository", "repos/get-top-paths"],
  ["block a user", "users/block", "orgs/block-user"],
  ["create a milestone", "issues/create-milestone"],
  ["who contributed to a project", "repos/list-contributors"],
  ["create a new repository", "repos/create-for-authenticated-user", "repos/create-in-org"],
];

/** Chosen by a tester from thirty queries, after their results were known: they detect a worse ranking, and measure nothing else. */
export const testerQueries: readonly Query[] = [
  ["invite a teammate to an organization", "orgs/create-invitation"],
  ["download the logs of a workflow run", "actions/download-workflow-run-logs"],
  ["turn on branch protection", "repos/update-branch-protection"],
  ["who starred this repository", "activity/list-stargazers-for-repo"],
  ["assign a person to an issue", "issues/add-assignees"],
  ["publish a new release", "repos/create-release"],
  ["approve a pull request", "pulls/create-review", "pulls/submit-review"],
  ["cancel a running job", "actions/cancel-workflow-run"],
  ["get the contents of a file", "repos/get-content"],
  ["comment on an issue", "issues/create-comment"],
  ["compare two commits", "repos/compare-commits", "repos/compare-commits-with-basehead"],
  ["fork a repository", "repos/create-fork"],
  ["watch a repository", "activity/set-repo-subscription"],
  ["accept an invitation to a repository", "repos/accept-invitation-for-authenticated-user"],
  ["remove a member from a team", "teams/remove-membership-for-user-in-org", "teams/remove-member-legacy"],
  ["show my gists", "gists/list"],
  ["start a workflow", "actions/create-workflow-dispatch"],
  ["dismiss a review", "pulls/dismiss-review"],
  ["check my rate limit", "rate-limit/get"],
  ["unlock an issue", "issues/unlock"],
];

/**
 * Written from the descriptions of randomly chosen operations, without their names and titles, before the ranking that they
 * measure. The ranking has not been adjusted to them.
 */
export const descriptionQueries: readonly Query[] = [
  ["which issue types does my organization have", "orgs/list-issue-types"],
  ["bring back a package that a user deleted", "packages/restore-package-for-user"],
  ["who are the members of an organization", "orgs/list-members"],
  ["start a new codespace", "codespaces/create-for-authenticated-user"],
  ["permissions that I can use in a custom organization role", "orgs/list-organization-fine-grained-permissions"],
  ["default settings for a new codespace", "codespaces/pre-flight-with-repo-for-authenticated-user"],
  ["publish my codespace to a new repository", "codespaces/publish-for-authenticated-user"],
  ["check runs of a check suite", "checks/list-for-suite"],
  ["stop including a custom property in the OIDC token", "oidc/delete-oidc-custom-property-inclusion-for-enterprise"],
  ["deployment records of an artifact", "orgs/list-artifact-deployment-records"],
];
