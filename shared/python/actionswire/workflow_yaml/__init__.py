"""Read and write workflow files: YAML 1.2, one document, text keys, everything bounded.

Pure, and ignorant of what a workflow means.
"""

from actionswire.workflow_yaml.errors import WorkflowYamlError
from actionswire.workflow_yaml.reader import DEPTH_MAX, NODES_MAX, SOURCE_BYTES_MAX, load
from actionswire.workflow_yaml.writer import dump

__all__ = ["DEPTH_MAX", "NODES_MAX", "SOURCE_BYTES_MAX", "WorkflowYamlError", "dump", "load"]
